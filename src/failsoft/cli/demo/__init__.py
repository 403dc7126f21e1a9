"""demo owns the order desk: a small real world whose services fail on a seeded schedule, and the proof of what happened.

Real HTTP servers on the loopback interface, a real database, real files; only the model may be a stand-in.
"""
