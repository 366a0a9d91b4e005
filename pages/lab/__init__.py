"""Lab: parts of attention switched off in a trained model."""
