"""Head roles: what every head does over many sentences, and the evidence for it."""
