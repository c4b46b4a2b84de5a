"""Scripts that make what is committed, and the pages of the site."""
