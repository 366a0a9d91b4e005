import pytest
import torch
import torch.nn.functional as F

from transformer.training.fused_loss import ROWS, fused_label_smoothed_loss
from transformer.training.loss import label_smoothed_loss

D_MODEL, VOCAB = 11, 31
COUNTS = (1, 7, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 13)


def _inputs(count, dtype=torch.float32):
    torch.manual_seed(count)
    hidden = torch.randn(count, D_MODEL).to(dtype).requires_grad_()
    embedding = torch.randn(VOCAB, D_MODEL).to(dtype).requires_grad_()
    return hidden, embedding, torch.randint(VOCAB, (count,))


def _close(ours, wanted, relative=1e-6):
    """Relative to the size of the whole tensor: single cells of a gradient may cancel to almost nothing."""
    assert (ours.double() - wanted).norm() <= relative * wanted.norm()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_plain_and_fused_losses_and_gradients_are_pytorchs(count, smoothing):
    hidden, embedding, target = _inputs(count)
    exact_hidden, exact_embedding = (t.detach().double().requires_grad_() for t in (hidden, embedding))
    logits = exact_hidden @ exact_embedding.T
    wanted = label_smoothed_loss(logits, target, smoothing)
    theirs = F.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")
    _close(wanted.detach(), theirs.detach())
    wanted.backward()
    loss, surprise = fused_label_smoothed_loss(hidden, embedding, target, smoothing)
    loss.backward()
    _close(loss, wanted.detach())
    _close(hidden.grad, exact_hidden.grad)
    _close(embedding.grad, exact_embedding.grad)
    plain = F.cross_entropy((exact_hidden @ exact_embedding.T).detach(), target, reduction="sum")
    _close(surprise, plain)
    assert not surprise.requires_grad


def test_gradients_scale_with_the_incoming_gradient():
    hidden, embedding, target = _inputs(7)
    loss, _ = fused_label_smoothed_loss(hidden, embedding, target, 0.1)
    first = torch.autograd.grad(loss, (hidden, embedding))
    loss, _ = fused_label_smoothed_loss(hidden, embedding, target, 0.1)
    second = torch.autograd.grad(loss / 8, (hidden, embedding))
    for whole, eighth in zip(first, second, strict=True):
        assert torch.equal(whole / 8, eighth)


def test_bfloat16_products_come_near():
    hidden, embedding, target = _inputs(ROWS + 1)
    wanted = F.cross_entropy(hidden @ embedding.T, target, label_smoothing=0.1, reduction="sum")
    gradient = torch.autograd.grad(wanted, hidden)[0].double()
    loss, _ = fused_label_smoothed_loss(hidden, embedding, target, 0.1, torch.bfloat16)
    assert loss.dtype == torch.float32
    loss.backward()
    assert loss.item() == pytest.approx(wanted.item(), rel=0.01)
    _close(hidden.grad, gradient, 0.02)


def test_large_logits_stay_finite():
    hidden, embedding, target = _inputs(7)
    loss, surprise = fused_label_smoothed_loss(hidden * 1e4, embedding, target, 0.1)
    assert loss.isfinite() and surprise.isfinite()
