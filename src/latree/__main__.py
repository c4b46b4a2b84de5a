"""`python -m latree`."""

from latree.cli import main

if __name__ == "__main__":
    main()
