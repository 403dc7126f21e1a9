"""rules owns the tables: one file per family of libraries, matched by dotted name so that none is imported."""
