"""How models differ on the same sentences."""
