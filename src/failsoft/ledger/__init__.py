"""ledger owns the thinking about one question: has this call happened?

Keys, states, records and decisions, free of input and output; `failsoft.stores` keeps what is decided here.
"""
