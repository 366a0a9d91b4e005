"""One pass with every tensor kept, and its export."""
