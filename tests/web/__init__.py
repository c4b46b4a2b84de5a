"""The page in a browser; `make test-web` runs these."""
