"""How analyses are scored: EVALB, strict counts, tags, significance."""
