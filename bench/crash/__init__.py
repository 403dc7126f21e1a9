"""The crash suite: a run of payments to a bank of its own, its process killed again and again, and what the bank has booked in the end."""
