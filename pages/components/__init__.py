"""Pictures and sentences that several pages use."""
