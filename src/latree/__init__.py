"""latree: latent-subtype grammars for parsing and tagging."""
