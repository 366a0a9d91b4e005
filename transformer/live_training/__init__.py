"""Training of small models while a viewer watches: experiments, recorded frames, worker processes.

Imports nothing here, so that the app can read experiments and frames without the trainer.
"""
