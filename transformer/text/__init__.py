"""Text to subword tokens and back."""
