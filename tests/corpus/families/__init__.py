"""One file per family of libraries; labels follow the libraries' own documentation."""
