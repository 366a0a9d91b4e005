"""Switches as text: in links, on the command line."""

from __future__ import annotations

import random
import re

from tests.fuzz.common import NUMBERS, mutated, one_sentence, text
from tests.fuzz.texts import model
from transformer.inference.pretrained import InputError
from transformer.interventions.sets import SWITCHES, InterventionError, Interventions

KINDS = ("encoder_self", "decoder_self", "cross", "all", "encoder", "decoder", "source", "target", "Cross", "ｃross")
WORDS = (*KINDS, "off", "on", "ff", "self", "uniform", "softmax", "remove", "shuffle", "scale")


def _place(rng: random.Random) -> str:
    numbers = [rng.choice(("1", "2", "3", "*", rng.choice(NUMBERS))) for _ in range(rng.randint(0, 3))]
    return ".".join([rng.choice(KINDS), *numbers])


def value(rng: random.Random, name: str) -> str:
    """What a switch of this name may be set to, often allowed, often nearly."""
    sort = next((one for one in SWITCHES if name in one.PARAMS), None)
    if sort is None:
        made = text(rng, 0)
    else:
        pairs = [example.split("=") for example in sort.EXAMPLES]
        made = rng.choice([example for param, example in pairs if param == name])
        if rng.random() < 0.5:
            made = re.sub(r"\d+", lambda _: rng.choice(("1", "2", "9", f"{rng.uniform(0, 5)}", *NUMBERS)), made)
        if rng.random() < 0.5:
            made = re.sub("[a-z_]{2,}", lambda word: rng.choice((word[0], rng.choice(WORDS))), made)
        if rng.random() < 0.3:
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
