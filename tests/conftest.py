"""What every test shares."""

from __future__ import annotations

import os

# One thread, said before torch is imported: the same sums in the same order everywhere, and a quiet machine.
os.environ["OMP_NUM_THREADS"] = "1"

import torch

torch.set_num_threads(1)
