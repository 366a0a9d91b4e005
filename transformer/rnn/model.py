"""The recurrent encoder-decoder with additive attention (Bahdanau et al. 2015, section 3, appendix A), or without."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.rnn.attention import AdditiveAttention, FixedContext
from transformer.rnn.config import RecurrentConfig
from transformer.rnn.gru import GatedUnit


class Step(NamedTuple):
    """One step of the decoder, i.

    state: s_i, [batch, n]; reset, update: its gates, [batch, n]; scores, weights: e_ij and alpha_ij, [batch, source];
    context: c_i, [batch, 2 n]; output: t_i, [batch, l], which is multiplied with the embeddings. Without attention
    scores and weights are [batch, 0].
    """

    state: Tensor
    reset: Tensor
    update: Tensor
    scores: Tensor
    weights: Tensor
    context: Tensor
    output: Tensor


class RecurrentModel(nn.Module):
    """A bidirectional GRU reads the source, and a GRU with attention writes the target.

    Encoder, section 3.2: one GRU reads the source from its first token to its last, another from its last to its first;
    the annotation of a token is h_j = [forward state; backward state].

    Decoder, section 3.1, appendix A.2.2, at step i, from s_0 = tanh(W_s (backward state of token 1)):

        c_i = sum_j alpha_ij h_j, alpha_i = softmax(e_i), e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)
        s_i = f(s_{i-1}, y_{i-1}, c_i), a GRU
        t_i = maxout of U_o s_i + V_o E y_{i-1} + C_o c_i: the larger number of each pair
        p(y_i) = softmax(E t_i)

    Without attention c_i is the same at every step: see `FixedContext`.

    Differences from the paper: t_i uses s_i, as in equation 4, where the appendix writes s_{i-1}; source, target and
    output share one embedding table E, as in our Transformer (Vaswani et al. 2017, section 3.4), where the paper has
    three; gates as in `GatedUnit`; biases everywhere except in the alignment model.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        m, n = config.d_embedding, config.d_state
        self.embedding = nn.Embedding(config.vocab_size, m)
        self.reader_forward = GatedUnit(m, n)
        self.reader_backward = GatedUnit(m, n)
        self.attention = AdditiveAttention(n, 2 * n, config.d_align) if config.attention else FixedContext()
        self.first_state = nn.Linear(n, n)  # W_s
        self.writer = GatedUnit(m + 2 * n, n)  # reads E y_{i-1} and c_i
        self.output = nn.Linear(n + m + 2 * n, 2 * m)  # U_o, V_o, C_o side by side
        self._initialise()

    def _initialise(self) -> None:
        """Recurrent matrices orthogonal, gate by gate (appendix B.1); other matrices Glorot-uniform and embeddings of
        variance 1/m, as in `Transformer`; biases zero."""
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif name.endswith("recurrent.weight"):
                for part in parameter.data.chunk(3):
                    nn.init.orthogonal_(part)
            elif name == "embedding.weight":
                nn.init.normal_(parameter, std=self.config.d_embedding**-0.5)
            else:
                nn.init.xavier_uniform_(parameter)

    def encode(self, source: Tensor) -> Tensor:
        """The annotations. source: ids [batch, source], padded with pad_id at the end. Returns [batch, source, 2 n]."""
        x, real = self.embedding(source), source != self.config.pad_id
        return torch.cat((self.reader_forward.run(x, real), self.reader_backward.run(x, real, backwards=True)), -1)

    def begin(self, annotations: Tensor) -> Tensor:
        """s_0 = tanh(W_s h), of the backward state of the first token: [batch, source, 2 n] -> [batch, n]."""
        return torch.tanh(self.first_state(annotations[:, 0, self.config.d_state :]))

    def step(self, fed: Tensor, state: Tensor, keys: Tensor, annotations: Tensor, real: Tensor) -> Step:
        """One step: attend, update the state, compute the output.

        fed: E y_{i-1}, [batch, m]; state: s_{i-1}, [batch, n]; keys: U_a h_j, [batch, source, n'], from
        `attention.key`; annotations: [batch, source, 2 n]; real: bool [batch, source].
        """
        context, scores, weights = self.attention(state, keys, annotations, real)
        state, reset, update = self.writer.step(self.writer.input(torch.cat((fed, context), -1)), state)
        pairs = self.output(torch.cat((state, fed, context), -1)).unflatten(-1, (-1, 2))
        return Step(state, reset, update, scores, weights, context, pairs.amax(-1))

    def steps(self, target: Tensor, annotations: Tensor, source: Tensor) -> list[Step]:
        """Teacher forcing, one step per token. target: ids fed in, [batch, target], starting with <s>; source: the ids
        of the annotations, for their padding."""
        real, keys = source != self.config.pad_id, self.attention.key(annotations)
        state = self.begin(annotations)
        done = []
        for fed in self.embedding(target).unbind(1):
            done.append(self.step(fed, state, keys, annotations, real))
            state = done[-1].state
        return done

    def decode(self, target: Tensor, annotations: Tensor, source: Tensor) -> Tensor:
        """t_i of every step, [batch, target, l]. Row i reads token i and predicts token i + 1."""
        return torch.stack([step.output for step in self.steps(target, annotations, source)], 1)

    def project(self, hidden: Tensor) -> Tensor:
        """Logits over the vocabulary with the embedding table's rows: [..., l] -> [..., vocab]."""
        return F.linear(hidden, self.embedding.weight)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing. source: ids [batch, source]; target: ids fed in, [batch, target]. Returns logits,
        [batch, target, vocab]."""
        return self.project(self.decode(target, self.encode(source), source))

    def parameter_count(self) -> int:
        """Number of trainable parameters; the shared embedding counts once."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device
