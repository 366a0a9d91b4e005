"""The gated hidden unit of Cho et al. 2014, written step by step (Bahdanau et al. 2015, appendix A.1.1)."""

import torch
from torch import Tensor, nn


class GatedUnit(nn.Module):
    """A recurrent unit with a reset gate r and an update gate z.

    Appendix A.1.1, with x for what enters (E y_{i-1} and c_i in the decoder):

        r_i  = sigma(W_r x + U_r s_{i-1})                how much of the old state enters the new state
        z_i  = sigma(W_z x + U_z s_{i-1})                how much of the old state stays
        s~_i = tanh(W x + r_i * (U s_{i-1}))             the proposed state
        s_i  = z_i * s_{i-1} + (1 - z_i) * s~_i

    W_r, W_z, W are stacked in one matrix, and so are U_r, U_z, U, each with a bias (which the paper leaves out "to make
    the equations less cluttered"). Two differences from the paper, both as in torch.nn.GRU: the reset gate comes after
    the product with U, where the paper has U (r_i * s_{i-1}), so that one product gives all three; and z and 1 - z
    are exchanged.
    """

    def __init__(self, inputs: int, states: int) -> None:
        super().__init__()
        self.input = nn.Linear(inputs, 3 * states)
        self.recurrent = nn.Linear(states, 3 * states)

    def step(self, entering: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step. entering: W_r x, W_z x, W x side by side, [batch, 3 n], from `self.input`; state: [batch, n].

        Returns the new state, the reset gate and the update gate, each [batch, n].
        """
        enter_r, enter_z, enter = entering.chunk(3, -1)
        keep_r, keep_z, keep = self.recurrent(state).chunk(3, -1)
        reset = torch.sigmoid(enter_r + keep_r)
        update = torch.sigmoid(enter_z + keep_z)
        proposed = torch.tanh(enter + reset * keep)
        return update * state + (1 - update) * proposed, reset, update

    def run(self, x: Tensor, real: Tensor, backwards: bool = False) -> Tensor:
        """All steps from a state of zeros, first token to last or last to first.

        x: [batch, token, inputs]; real: bool [batch, token], False = padding, where the state does not change.
        Returns [batch, token, n]; row j is the state after token j.
        """
        entering = self.input(x)
        state = entering.new_zeros(len(x), self.recurrent.in_features)
        order = range(x.shape[1])
        full = bool(real.all())
        states = []
        for j in reversed(order) if backwards else order:
            new, _, _ = self.step(entering[:, j], state)
            state = new if full else torch.where(real[:, j, None], new, state)
            states.append(state)
        return torch.stack(states[::-1] if backwards else states, 1)
