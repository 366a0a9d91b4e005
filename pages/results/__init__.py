"""Results: what BLEU counts, what the scores of section 6 can be compared with, and its Tables 2 and 3."""
