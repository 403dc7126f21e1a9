"""Rules of the project that a test can check, so that no reviewer has to say them twice."""
