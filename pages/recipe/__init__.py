"""Training recipe: section 5 of the paper, part by part."""
