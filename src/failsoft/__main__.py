"""`python -m failsoft`: the same as the `failsoft` command."""

from failsoft.cli import main

main()
