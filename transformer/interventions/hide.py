"""Hidden tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.interventions.switch import (
    EVERYWHERE,
    WHOLE,
    HeadSwitch,
    InterventionError,
    SubLayer,
    Where,
    brief,
    unknown,
)
from transformer.model.tap import SIDES, Edit
from transformer.texts import N_, Text

KEYS = {"encoder_self": "source", "decoder_self": "target", "cross": "source"}  # kind of attention -> side of its keys
NAMES = {"encoder_self": N_("encoder-self"), "decoder_self": N_("decoder-self"), "cross": N_("cross")}


@dataclass(frozen=True)
class Hide(HeadSwitch):
    """A token that no query may attend to: its index from 0 in the source, or in what the decoder is fed."""

    side: str
    token: int
    where: Where = EVERYWHERE

    PARAMS = ("hide",)
    EXAMPLES = ("hide=source.3", "hide=target.2@decoder_self.*.1")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.side not in SIDES:
            raise unknown(N_("unknown side {value}; choose {names}"), self.side, SIDES)
        if type(self.token) is not int or not 0 <= self.token < 100_000:
            raise InterventionError("token {value} cannot be hidden; give its index, from 0", value=brief(self.token))
        if self.where.kind is not None and self.where.kind not in self.kinds:
            raise InterventionError(
                "{kind} attends to the {keys}, so it has no {side} token to hide; name another kind, or none",
                kind=self.where.kind,
                keys=KEYS[self.where.kind],
                side=self.side,
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind for kind, side in KEYS.items() if side == self.side)

    @property
    def setting(self) -> str:
        return f"{self.side}.{self.token + 1}"

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Hide:
        side, _, token = setting.partition(".")
        if side not in SIDES or not WHOLE.fullmatch(token) or int(token) == 0:
            raise InterventionError(
                "{value} is not a token; write source.N or target.N, counted from 1", value=brief(setting)
            )
        return cls(side, int(token) - 1, where)

    def check_lengths(self, lengths: Mapping[str, int]) -> None:
        if self.token >= lengths.get(self.side, self.token + 1):
            raise InterventionError(
                "token {token} of the {side} cannot be hidden; it has {count}",
                token=self.token + 1,
                side=self.side,
                count=lengths[self.side],
            )

    @property
    def sentence_group(self) -> tuple[int, ...]:
        return (0,)

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Hide]], sub_layer: SubLayer) -> dict[str, Edit]:
        def mask(tensor: Tensor) -> Tensor:
            shown = torch.ones(len(heads), 1, tensor.shape[-1], dtype=torch.bool, device=tensor.device)
            for head, switches in enumerate(heads):
                shown[head, :, [switch.token for switch in switches if switch.token < shown.shape[-1]]] = False
            tensor = tensor & shown
            blind = (~tensor.any(-1)).nonzero()
            if len(blind):
                _, head, query = blind[0].tolist()
                raise InterventionError(
                    "with these tokens hidden, row {query} of {kind} attention (layer {layer}, head {head}) has "
                    "nothing to attend to, so its softmax is undefined; leave it at least one key",
                    query=query + 1,
                    kind=Text(NAMES[sub_layer.kind]),
                    layer=sub_layer.layer + 1,
                    head=head + 1,
                )
            return tensor

        return {"mask": mask}
