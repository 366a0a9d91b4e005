"""Switches as text: in links, on the command line."""

from __future__ import annotations

import random

from tests.fuzz.common import NUMBERS, mutated, one_sentence, text
from tests.fuzz.texts import model
from transformer.inference.pretrained import InputError
from transformer.interventions.sets import InterventionError, Interventions

KINDS = ("encoder_self", "decoder_self", "cross", "all", "encoder", "decoder", "source", "target", "Cross", "ｃross")
STACKS = ("encoder", "decoder")


def _place(rng: random.Random) -> str:
    numbers = [rng.choice(("1", "2", "3", "*", rng.choice(NUMBERS))) for _ in range(rng.randint(0, 3))]
    return ".".join([rng.choice(KINDS), *numbers])


def value(rng: random.Random, name: str) -> str:
    """What a switch of this name may be set to, often allowed, often nearly."""
    values = {
        "scaling": lambda: rng.choice(("off", "on", rng.choice(NUMBERS), f"{rng.uniform(0, 5)}")),
        "causal": lambda: rng.choice(("off", "off", "on")),
        "padding": lambda: rng.choice(("off", "off", "on")),
        "pad": lambda: rng.choice(NUMBERS),
        "hide": lambda: f"{rng.choice(('source', 'target', 'x'))}.{rng.choice(NUMBERS)}",
        "zero": lambda: _place(rng),
        "weights": lambda: rng.choice(("uniform", "argmax", "softmax")),
        "positions": lambda: (
            rng.choice(("remove", "reverse", "shift.5", "shuffle.7", "scale.2", "scale.1e400"))
            + rng.choice(("", "@source", "@target", "@x"))
        ),
        "skip": lambda: f"{rng.choice(STACKS)}.{rng.choice(('1', '2', '9'))}.{rng.choice(('ff', 'cross'))}",
        "neurons": lambda: f"{rng.choice(STACKS)}.{rng.choice(('1', '2'))}.{rng.choice(NUMBERS)}",
    }
    made = values.get(name, lambda: text(rng, 0))()
    if name not in ("zero", "pad", "positions", "skip", "neurons") and rng.random() < 0.5:
        made += "@" + _place(rng)
    if rng.random() < 0.2:
        made = ",".join([made] * rng.choice((2, 3, 400, 1_200)))
    return mutated(rng, made) if rng.random() < 0.4 else made


def params(rng: random.Random) -> dict[str, str]:
    """A few switches, name -> text."""
    known = (*Interventions.PARAMS, *Interventions.PARAMS, "x", "", "scaling ")
    return {name: value(rng, name) for name in rng.choices(known, k=rng.randint(0, 4))}


def check(found: Interventions) -> None:
    """Written and read again they are the same."""
    again = Interventions.parse(found.to_params())
    assert again == found and hash(again) == hash(found)
    assert Interventions.parse(str(found)) == found
    assert again.to_params() == found.to_params()


def case(seed: int) -> None:
    rng = random.Random(f"switches {seed}")
    asked = params(rng)
    form = rng.randrange(3)
    try:
        if form == 0:
            found = Interventions.parse(asked)
        elif form == 1:
            found = Interventions.parse([f"{name}={text}" for name, text in asked.items()] + [mutated(rng, "")])
        else:
            found = Interventions.parse(mutated(rng, " ".join(f"{name}={text}" for name, text in asked.items())))
        check(found)
        one = model("reverse")
        found.check(one.config)
        if rng.random() < 0.2:
            try:
                one.trace("abc", limit=12, interventions=found)
            except (InputError, InterventionError) as error:
                one_sentence(str(error))
    except InterventionError as error:
        one_sentence(str(error))
