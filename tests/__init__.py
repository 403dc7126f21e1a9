"""The tests: a folder per room, and `meta/` for the rules of the project itself."""
