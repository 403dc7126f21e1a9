"""Coverage-guided fuzzing, apart from the ordinary tests: `./run py -m tests.fuzz.reader`."""
