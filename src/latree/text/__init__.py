"""Trees and text: brackets, tables, labels, tokens, binarisation, heads, drawings."""
