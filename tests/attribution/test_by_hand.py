"""Every method on one model that can be solved on paper."""

import math
from dataclasses import replace

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.attribution import METHODS, attribute
from transformer.inference.pretrained import Pretrained
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer

OTHERS = len(tiny_pretrained().tokenizer) - 1  # pieces but the one predicted
L = math.log(OTHERS)


def solvable() -> Pretrained:
    """One layer a side, two dimensions, no LayerNorm, no positions, scores of 0. Only cross-attention adds something:
    the mean of the source's embeddings. The first dimension is the logit of "lo"; all other logits are 0.

    Source "mi vu </s>", embeddings (6L, 0), (-4.5L, 0), (0, 0); fed in <s>, (0.5L, L). So each source token brings a
    third, 2L, -1.5L and 0, the decoder's output is (L, L), and with L = ln n, n other pieces, p("lo") = n / (n + n).
    """
    tiny = tiny_pretrained()
    config = ModelConfig(
        vocab_size=len(tiny.tokenizer), d_model=2, d_ff=2, heads=1, encoder_layers=1, decoder_layers=1,
        norm="none", positions="none", embedding_scale=False, tied_output=False,
    )  # fmt: skip
    network = Transformer(config).eval().requires_grad_(False)
    state = {name: torch.zeros_like(tensor) for name, tensor in network.state_dict().items()}
    for matrix in ("value", "output"):
        state[f"decoder.0.cross_attention.{matrix}.weight"] = torch.eye(2)
    (mi, _), (vu, _), (lo, _) = (tiny.encode(word) for word in ("mi", "vu", "lo"))
    state["embedding.weight"][mi, 0], state["embedding.weight"][vu, 0] = 6 * L, -4.5 * L
    state["embedding.weight"][config.start_id] = torch.tensor([0.5 * L, L])
    state["output_matrix"][lo, 0] = 1.0
    network.load_state_dict(state)
    return replace(tiny, model=network)


def fall(logit: float) -> float:
    """ln 1/2 - ln p("lo"), with the logit in units of L."""
    return math.log(0.5) - math.log(OTHERS**logit / (OTHERS**logit + OTHERS))


TURN = 1 - 3.5 / math.sqrt(2 * (2.5**2 + 1))  # from (1, 1) to (2.5, 1), without "vu": 1 - cosine
SIZES = 2 + 1.5 + math.sqrt(1.25)  # Euclidean norms of the parts of (1, 1): (2, 0), (-1.5, 0), (0, 0) and own (0.5, 1)
# Of "mi", "vu", "</s>" and "<s>" to "lo".
BY_HAND = {
    # Even weights; half of the row is the decoder's self-attention.
    "attention": [1 / 6, 1 / 6, 1 / 6, 1 / 2],
    # Half of the row is the residual connection; the encoder mixes even weights with themselves.
    "rollout": [1 / 6, 1 / 6, 1 / 6, 1 / 2],
    "norm": [2 / SIZES, 1.5 / SIZES, 0, math.sqrt(1.25) / SIZES],
    # max(0, |y| - |y - part|), sums of absolute values: only without its own part is (1, 1) smaller, by 1.5 of 2.
    "alti": [0, 0, 0, 1],
    # Without "mi" the output is (-1, 1), at a right angle to (1, 1).
    "zeroing": [1 / (1 + TURN), TURN / (1 + TURN), 0, 0],
    # d ln p / d logit = 1 - p = 1/2.
    "gradient": [L, -0.75 * L, 0, 0.25 * L],
    # The mean of 1 - p on the way from logit 0 to L is (ln 1/2 - ln 1/(n+1)) / L.
    "integrated": [part * math.log((OTHERS + 1) / 2) for part in (2, -1.5, 0, 0.5)],
    # A third times the gradient of a weight, 1/2 of what the token brings with weight 1, if positive.
    "chefer": [L, 0, 0, 0],
    # The mean of the two source tokens left; <s> keeps its own stream.
    "leave-one-out": [fall(-2.25 + 0.5), fall(3 + 0.5), fall(0.75 + 0.5), 0],
}


@pytest.mark.parametrize("name", METHODS)
def test_what_every_token_contributes_is_what_paper_and_pencil_give(name: str) -> None:
    model = solvable()
    trace = model.trace("mi vu", "lo")
    assert float(trace.probabilities[0]) == pytest.approx(0.5, abs=1e-6)
    found = attribute(model, trace, name)
    assert found.prefix[0, 1:].abs().sum() == 0
    wanted = torch.tensor(BY_HAND[name], dtype=torch.float64)
    row = torch.cat((found.source[0], found.prefix[0, :1])).double()
    torch.testing.assert_close(row, wanted, atol=2e-3 if name == "integrated" else 1e-5, rtol=0)
