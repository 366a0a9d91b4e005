"""Training small models while people watch: what is trained, what is recorded, and the process that does it.

Nothing is imported here: the app reads experiments and frames without the trainer.
"""
