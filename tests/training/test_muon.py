"""Muon for matrices, Adam for the rest."""

import dataclasses
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.training.test_loop import CONFIG, _trainer
from transformer.training.adam import Adam
from transformer.training.muon import Muon


def test_every_direction_of_a_matrix_moves_about_equally() -> None:
    model = nn.Linear(8, 4)
    before = model.weight.detach().clone()
    left, right = torch.linalg.qr(torch.randn(4, 4)).Q, torch.linalg.qr(torch.randn(8, 4)).Q
    model.weight.grad = left @ torch.diag(torch.tensor([5.0, 3.0, 1.0, 0.5])) @ right.T
    Muon(model, times=3.0).step(0.01)
    moved = (before - model.weight.detach()) / (0.01 * 3.0 * 0.2 * 8**0.5)
    # The polynomial of Newton and Schulz leaves the singular values between 0.68 and 1.13.
    assert torch.linalg.svdvals(moved) == pytest.approx(torch.full((4,), 0.9), abs=0.25)
    directions = left.T @ moved @ right
    assert directions - torch.diag(directions.diag()) == pytest.approx(torch.zeros(4, 4), abs=0.02)  # bfloat16


def test_what_is_no_matrix_of_a_layer_moves_as_with_adam() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3), nn.LayerNorm(3))
    other = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3), nn.LayerNorm(3))
    other.load_state_dict(model.state_dict())
    optimizers = Muon(model, times=1.0), Adam(other.parameters())
    for _ in range(3):
        for one, optimizer in zip((model, other), optimizers, strict=True):
            for number, parameter in enumerate(one.parameters(), 1):
                parameter.grad = torch.arange(1.0, parameter.numel() + 1).view_as(parameter) / number
            optimizer.step(0.01)
            optimizer.forget_gradients()
    same = {name: torch.equal(value, other.state_dict()[name]) for name, value in model.state_dict().items()}
    assert [name for name, equal in same.items() if not equal] == ["1.weight"]


def test_a_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, dropout=0.1)
    whole = _trainer(tmp_path / "whole", config, muon=2.0)
    whole.run(until=4)
    _trainer(tmp_path / "parts", config, muon=2.0).run(until=2)
    again = _trainer(tmp_path / "parts", config, muon=2.0)
    again.run(until=4)
    assert again.step == 4 and isinstance(again.optimizer, Muon)
    for one, other in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
