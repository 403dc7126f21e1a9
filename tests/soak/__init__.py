"""A long run under load and faults; `./run soak` runs it, and a minute of it is a test."""
