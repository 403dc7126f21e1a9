"""The labelled corpus: real exceptions built or raised by the real libraries, with what they should be called."""
