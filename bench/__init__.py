"""bench measures failsoft against its floors and peers."""
