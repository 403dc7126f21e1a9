"""agent owns the loop between a model and its tools: it finishes, escalates or stops, and always says why.

Read `loop.py` first.
"""
