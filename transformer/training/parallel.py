"""Data-parallel training with torchrun: every worker takes a part of each batch, and their gradients are summed.

    torchrun --nproc-per-node=2 -m transformer train ...

torchrun starts one process per worker and gives each its number in environment variables.
"""

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from transformer.text.batching import Batch

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Workers:
    """number: of this process, from 0; count: of all workers; device: of this process.

    A single process is worker 0 of 1 and exchanges nothing.
    """

    number: int = 0
    count: int = 1
    device: torch.device = CPU

    @property
    def first(self) -> bool:
        """Whether this worker writes files and prints."""
        return self.number == 0

    def part(self, batch: Batch) -> Batch:
        """This worker's rows of a batch: every count-th, so that all workers get sentences of similar length.

        A worker without rows gets the first row with nothing to predict, because all must exchange gradients.
        """
        if self.count == 1:
            return batch
        rows = slice(self.number, None, self.count)
        if len(batch.source) > self.number:
            return Batch(batch.source[rows], batch.target_in[rows], batch.target_out[rows])
        return Batch(batch.source[:1], batch.target_in[:1], torch.zeros_like(batch.target_out[:1]))

    def total(self, values: Tensor) -> Tensor:
        """The sum of the values over all workers."""
        if self.count > 1:
            dist.all_reduce(values)
        return values

    def gather(self, values: Tensor) -> list[Tensor]:
        """The values of every worker, in order, on the CPU. They travel through `device`, because nccl needs GPUs."""
        if self.count == 1:
            return [values]
        placed = values.to(self.device)
        gathered = [torch.empty_like(placed) for _ in range(self.count)]
        dist.all_gather(gathered, placed)
        return [tensor.cpu() for tensor in gathered]

    def wait(self) -> None:
        """Wait until all workers are here."""
        if self.count > 1:
            dist.barrier()

    def share(self, module: nn.Module) -> nn.Module:
        """The module with gradients averaged over all workers in its backward pass."""
        return nn.parallel.DistributedDataParallel(module, broadcast_buffers=False) if self.count > 1 else module


ALONE = Workers()


def join(device: torch.device) -> Workers:
    """The workers of this process: those that torchrun started, or this process alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count < 2:
        return ALONE
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Workers(dist.get_rank(), dist.get_world_size(), device)


def leave() -> None:
    """End what `join` started."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
