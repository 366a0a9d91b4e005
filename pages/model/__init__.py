"""Model: the card of the checkpoint."""
