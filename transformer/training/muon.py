"""Muon for the matrices of a model, Adam for the rest."""

import torch
from torch import nn

from transformer.training.adam import Adam


class Muon(Adam):
    """Muon (Jordan et al. 2024) for the weights of every linear layer: each update is the momentum with all its
    singular values near 1, times 0.2 sqrt(longer side), the size of Adam's (Liu et al. 2025, section 2.2).

    Embeddings, biases and norms take Adam's update. times: rate of the matrices, as a multiple of the rate. The running
    mean of Adam's state is the momentum here; the squares stay zero.
    """

    def __init__(self, model: nn.Module, times: float) -> None:
        super().__init__(model.parameters())
        self.times = times
        layers = {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Linear)}
        self.matrices = [parameter for parameter in self.parameters if id(parameter) in layers]
        self._muon = torch.optim.Muon(self.matrices, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")

    @torch.no_grad()
    def step(self, rate: float) -> None:
        for matrix in self.matrices:
            self._muon.state[matrix]["momentum_buffer"] = self._state(matrix)["exp_avg"]
        self._muon.param_groups[0]["lr"] = rate * self.times
        self._muon.step()
        for matrix in self.matrices:
            matrix.grad = None
        super().step(rate)
