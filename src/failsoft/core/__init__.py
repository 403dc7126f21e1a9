"""core owns the words that all rooms share: call, result, error, effect, clock, event, ports.

Standard library only.
"""
