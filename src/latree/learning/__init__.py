"""How parameters are learned, whatever the kind of model."""
