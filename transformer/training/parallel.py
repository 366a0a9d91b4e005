"""Data-parallel training with torchrun: every worker takes a part of each batch, gradients are summed.

    torchrun --nproc-per-node=2 -m transformer train ...

torchrun starts one process a worker and tells each its number in environment variables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from transformer.text.batching import Batch

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Workers:
    """number: of this process, from 0; count: of all; device: where it computes.

    One process alone is worker 0 of 1 and exchanges nothing.
    """

    number: int = 0
    count: int = 1
    device: torch.device = CPU

    @property
    def first(self) -> bool:
        """Whether this is the worker that writes files and speaks."""
        return self.number == 0

    def part(self, batch: Batch) -> Batch:
        """This worker's rows of a batch: every count-th, so that all get sentences of like length.

        A worker for which none is left gets the first row with nothing to predict, since all must take part in the
        exchange of gradients.
        """
        if self.count == 1:
            return batch
        rows = slice(self.number, None, self.count)
        if len(batch.source) > self.number:
            return Batch(batch.source[rows], batch.target_in[rows], batch.target_out[rows])
        return Batch(batch.source[:1], batch.target_in[:1], torch.zeros_like(batch.target_out[:1]))

    def total(self, values: Tensor) -> Tensor:
        """Sums over all workers."""
        if self.count > 1:
            dist.all_reduce(values)
        return values

    def gather(self, values: Tensor) -> list[Tensor]:
        """The values of every worker, in order, on the CPU. They travel over `device`: nccl knows GPUs only."""
        if self.count == 1:
            return [values]
        placed = values.to(self.device)
        found = [torch.empty_like(placed) for _ in range(self.count)]
        dist.all_gather(found, placed)
        return [one.cpu() for one in found]

    def wait(self) -> None:
        """Until all workers are here."""
        if self.count > 1:
            dist.barrier()

    def share(self, module: nn.Module) -> nn.Module:
        """The module with gradients averaged over all workers in its backward pass."""
        return nn.parallel.DistributedDataParallel(module, broadcast_buffers=False) if self.count > 1 else module


ALONE = Workers()


def join(device: torch.device) -> Workers:
    """The workers this process belongs to: those torchrun started, or itself alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count < 2:
        return ALONE
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Workers(dist.get_rank(), dist.get_world_size(), device)


def leave() -> None:
    """Give back what `join` took."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
