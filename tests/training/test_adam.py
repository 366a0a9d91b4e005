"""Our Adam is torch's, to the last bit."""

import subprocess
import sys

import pytest
import torch

from transformer.training.adam import Adam


@pytest.mark.parametrize("shapes", [[(3, 5), (7,), ()], [(11, 13)]])
def test_adam_equals_torchs_to_the_last_bit(shapes: list[tuple[int, ...]]) -> None:
    generator = torch.Generator().manual_seed(1)
    first = [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]
    ours, theirs = ([torch.nn.Parameter(one.detach().clone()) for one in first] for _ in range(2))
    unused = torch.nn.Parameter(torch.ones(2))  # has no gradient, ever
    mine = Adam([*ours, unused])
    reference = torch.optim.Adam(theirs, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    for step in range(1, 30):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape, generator=generator) * 10.0 ** (step % 5 - 3)
            other.grad = one.grad.clone()
        for group in reference.param_groups:
            group["lr"] = 0.01 / step
        mine.step(0.01 / step)
        reference.step()
        mine.forget_gradients()
        assert all(one.grad is None for one in ours)
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one, other)
    for one, other in zip(ours, theirs, strict=True):
        kept = reference.state[other]
        assert all(torch.equal(mine.state[one][name], kept[name]) for name in ("step", "exp_avg", "exp_avg_sq"))
    assert torch.equal(unused, torch.ones(2)) and unused not in mine.state


@pytest.mark.slow
def test_a_training_imports_no_compiler() -> None:
    """What `torch.optim.Adam` would: a second of every run, and it asks for a folder for temporary files."""
    code = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(('sacrebleu', 'tqdm', 'sacremoses'))  # as if they were not installed\n"
        "from transformer.live_training.experiment import Experiment\n"
        "from transformer.live_training.session import Session\n"
        "Session(Experiment(steps=3, batch=4, layers=1, d_model=8, heads=2, d_ff=8)).run(lambda frame: None)\n"
        "print([name for name in ('torch._dynamo', 'torch._inductor') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
