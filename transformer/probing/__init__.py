"""A model over many sentences: the effect of switches, and the activity of neurons."""
