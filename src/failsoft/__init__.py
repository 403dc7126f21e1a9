"""failsoft: the reliability runtime between a language model and its tools."""
