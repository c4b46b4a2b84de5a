"""A page and a JSON API: what `latree serve` answers."""
