"""Every head with its role over a probe set, its baseline, and the sentences that show it most and least."""

import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from pages.components import figure, headgrid, task
from pages.components.one_head import head_label, head_of
from pages.components.probing import pairs_of
from pages.components.sentences import paragraph, point
from pages.components.stored import stored
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.runtime.shared import SharedCache, identity, shared
from pages.runtime.texts import plain_markdown
from transformer.analysis.roles import Role, Roles, from_dict, roles
from transformer.checkpoints.folder import HEADS
from transformer.figures import roles as figures
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.probing.importance import all_heads, name_of
from transformer.probing.roles import sentences_of, word_list
from transformer.texts import _
from transformer.tracing.trace import KINDS

OPTIONS = ("colour", "head")
MEASURES = ("role", "confidence", "entropy", "distance")
NEAR = 0.025  # to a simple fraction, which a headline may name instead


JOBS: SharedCache[dict[str, Roles]] = SharedCache("roles of heads")


def measured(model: Pretrained, progress: task.Progress = lambda done, total: True) -> dict[str, Roles]:
    """The roles of all heads over the model's probe set."""
    pairs = pairs_of(model)
    total = 2 * len(pairs)
    sentences = sentences_of(model, pairs, lambda done, _: progress(done, total))
    return roles(sentences, word_list(model, pairs), lambda done, _: progress(len(pairs) + done, total))


@shared()
def shipped(model: Pretrained) -> dict[str, Roles] | None:
    """What was measured before the model was published; None if there is nothing for this model."""
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        data, config, pairs = json.loads(stored(model, HEADS)), model.config, pairs_of(model)
        return {kind: from_dict(kind, data[kind], (layers_of(config, kind), config.heads), pairs) for kind in KINDS}
    return None


def kind_sides() -> dict[str, str]:
    """Each with what looks at what."""
    return {
        "encoder_self": _("Encoder self-attention: in the source"),
        "decoder_self": _("Decoder self-attention: in the output"),
        "cross": _("Cross-attention: output → source"),
    }


def cell_names() -> dict[str, str]:
    """Roles in at most six letters, which a cell has room for on a phone."""
    return {
        "previous": _("prev"),
        "same": _("same"),
        "next": _("next"),
        "predicted": _("new"),
        "fed": _("fed in"),
        "resting": _("idle"),
        "punctuation": _("mark"),
        "rarest": _("rare"),
        "broad": _("broad"),
    }


def role_meanings() -> dict[str, str]:
    """Each begins with the name that the role has in the cells."""
    return {
        "previous": _("previous token"),
        "same": _("same token"),
        "next": _("next token"),
        "predicted": _("new: source word of the token predicted"),
        "fed": _("fed in: source word of the token fed in"),
        "resting": _("idle: start/end token"),
        "punctuation": _("mark: punctuation"),
        "rarest": _("rarest word"),
        "broad": _("broad: everything alike"),
    }


def measure_names() -> dict[str, str]:
    return {
        "role": _("Role"),
        "confidence": _("Confidence"),
        "entropy": _("Entropy"),
        "distance": _("Distance"),
    }


def measure_meanings() -> dict[str, str]:
    return {
        "confidence": _(
            "Confidence: the mean of each row's largest weight, without the source's end token (Voita et al. 2019)."
        ),
        "entropy": _("Entropy of the rows, as a share of the largest possible: 0 is one token, 1 is all alike."),
        "distance": _("Distance: the mean number of tokens between a row's token and what it attends to."),
    }


def draw(frame: PageFrame) -> None:
    model, options = frame.model, frame.options
    pairs = pairs_of(model)
    if not pairs:
        sentence = _(
            "There is no probe set from {source} to {target}. The command heads measures any sentence pairs: python -m "
            "transformer heads --data FILE."
        )
        message(sentence.format(source=model.languages[0], target=model.languages[1]), "note")
        return
    lead = st.container()
    found = shipped(model) or task.result(
        JOBS,
        (model.name, identity(model)),
        _("Measure every head on {count} sentences", count=len(pairs)),
        lambda progress: measured(model, progress),
        at_once=True,
    )
    if found is None:
        point(_("What does each head attend to most? Measure it on {count} sentences.", count=len(pairs)), lead)
        return
    point(_says(_counts(found)), lead)
    about, grid, below = st.container(), st.container(), st.container()
    colour = options.labelled("colour", _("Colour by"), measure_names())
    with about:
        paragraph(
            _(
                "Each cell is one of {count} attention heads: where it looks most, and how often, in %. The list "
                "counts the heads. Press one to see examples."
            ).format(count=_counts(found).total())
            if colour == "role"
            else measure_meanings()[colour],
        )
    kind, layer, head = _chosen(frame, found)
    with grid:
        _grid(frame, found, colour, (kind, layer, head))
    with below:
        _head(frame, found[kind], kind, layer, head)
        if colour == "role":
            paragraph(
                _("Measured on {count} sentences.", count=len(pairs)),
                _("“Broad”: no weight is above twice the even one."),
                _("“–”: no role is clearly above what even weights, or always looking equally far away, would reach."),
                quiet=True,
            )


def _counts(found: Mapping[str, Roles]) -> Counter[str]:
    """How many heads have each role; "" is none."""
    return Counter(
        role.name if (role := of_kind.role(layer, head)) else ""
        for of_kind in found.values()
        for layer, head in np.ndindex(*of_kind.confidence.shape)
    )


def _share(part: float) -> str:
    """In words where a simple fraction is near."""
    words = {
        1 / 4: _("A quarter"), 1 / 3: _("A third"), 1 / 2: _("Half"), 2 / 3: _("Two thirds"),
        3 / 4: _("Three quarters"), 1: _("All"),
    }  # fmt: skip
    near = min(words, key=lambda fraction: abs(fraction - part))
    return words[near] if abs(near - part) < NEAR else _percent(part)


def _says(counts: Mapping[str, int]) -> str:
    """What the most heads do, in at most twelve words."""
    name = max(counts, key=counts.__getitem__)
    return {
        "previous": _("{share} of all heads look at the previous token."),
        "same": _("{share} of all heads look at the same token: itself."),
        "next": _("{share} of all heads look at the next token."),
        "predicted": _("{share} of all heads find the predicted token's source word."),
        "fed": _("{share} of all heads find the fed-in token's source word."),
        "resting": _("{share} of all heads idle, looking at the start or end token."),
        "punctuation": _("{share} of all heads look at a punctuation mark."),
        "rarest": _("{share} of all heads look at the rarest word."),
        "broad": _("{share} of all heads are broad: they look at everything alike."),
        "": _("{share} of all heads have no clear role."),
    }[name].format(share=_share(counts[name] / sum(counts.values())))


def _chosen(frame: PageFrame, found: Mapping[str, Roles]) -> tuple[str, int, int]:
    """The chosen head, from 0: that of the link, or the one with the clearest role."""
    names = [*map(name_of, all_heads(frame.model.config))]

    def clear(name: str) -> float:
        kind, layer, head = head_of(name)
        role = found[kind].role(layer, head)
        return (role.share - role.baseline) / (1 - role.baseline) if role else -1.0

    return head_of(str(frame.options.choice("head", names, max(names, key=clear))))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _cell(found: Roles, layer: int, head: int, colour: str, largest: float) -> dict[str, Any]:
    role = found.role(layer, head)
    place = _("Layer {layer}, head {head}", layer=layer + 1, head=head + 1)
    says = [place, _role_says(role), _number_says(found, layer, head)]
    if colour == "role":
        if role is None:
            return {"text": "–", "says": says}
        return {
            "text": _percent(role.share), "note": cell_names()[role.name], "tone": role.name,
            "level": role.share, "says": says,
        }  # fmt: skip
    value = float(getattr(found, colour)[layer, head])
    text = f"{value:.1f}" if colour == "distance" else f"{value:.2f}"
    return {"text": text, "tone": found.kind, "level": value / largest, "says": says}


def _role_says(role: Role | None) -> str:
    if role is None:
        return _("no role above its baseline")
    sentence = _("{meaning}: {share} of the rows, baseline {baseline}")
    return sentence.format(
        meaning=role_meanings()[role.name], share=_percent(role.share), baseline=_percent(role.baseline)
    )


def _number_says(found: Roles, layer: int, head: int) -> str:
    text = _("confidence {confidence}, entropy {entropy}, distance {distance} tokens")
    confidence, entropy, distance = (float(getattr(found, name)[layer, head]) for name in MEASURES[1:])
    return text.format(confidence=f"{confidence:.2f}", entropy=f"{entropy:.2f}", distance=f"{distance:.1f}")


def _grid(frame: PageFrame, found: Mapping[str, Roles], colour: str, chosen: tuple[str, int, int]) -> None:
    kinds = list(found)
    largest = max((float(getattr(found[kind], colour).max()) for kind in kinds), default=1.0) if colour != "role" else 1
    panels = []
    rows: list[list[Any]] = [["kind", "layer", "head", "role", "share", "baseline", "error", *MEASURES[1:]]]
    for kind in kinds:
        layers, heads = found[kind].confidence.shape
        cells = [[_cell(found[kind], row, head, colour, largest) for head in range(heads)] for row in range(layers)]
        panels.append(headgrid.panel_of_heads(kind, kind_sides()[kind], cells, heads))
        for layer in range(layers):
            for head in range(heads):
                role = found[kind].role(layer, head)
                of_role = [role.name, role.share, role.baseline, role.error] if role else ["", None, None, None]
                numbers = [float(getattr(found[kind], name)[layer, head]) for name in MEASURES[1:]]
                rows.append([kind, layer + 1, head + 1, *of_role, *numbers])
    keys: Sequence[Mapping[str, Any]] = ()
    if colour == "role":
        counts, names = _counts(found), cell_names()
        keys = [
            {"tone": name, "level": 0.9, "name": names[name], "text": text, "count": counts[name]}
            for name, text in sorted(role_meanings().items(), key=lambda one: -counts[one[0]])
            if counts[name]
        ]
        keys.append({"tone": "", "level": 0, "name": "–", "text": _("– no clear role"), "count": counts[""]})
    headgrid.draw(
        "roles_grid",
        _("What every head does: layers down, heads across"),
        panels,
        ["roles", frame.model.name, colour],
        [_("What the heads of {model} do", model=frame.model.name), measure_meanings().get(colour, "")],
        rows,
        keys=keys,
        chosen=(kinds.index(chosen[0]), *chosen[1:]),
        on_pick=lambda place: frame.options.report("head", f"{kinds[place[0]]}.{place[1] + 1}.{place[2] + 1}"),
    )


def _head(frame: PageFrame, found: Roles, kind: str, layer: int, head: int) -> None:
    """The chosen head: all of its shares beside their baselines, its sentences, and its place among the others."""
    st.html(f'<h2 class="hs-tr-title">{head_label(name_of((kind, layer, head)))}</h2>')
    role = found.role(layer, head)
    meanings = role_meanings()
    rows = [
        (meanings[one.name], _percent(one.share), f"± {196 * one.error:.0f}", _percent(one.baseline))
        for one in found.of(layer, head)
    ]
    numbers, sentences, plane = st.columns([4, 5, 6], gap="medium")
    with numbers:
        st.html(table((_("looks most at"), _("cases"), _("95%"), _("baseline")), rows, "hs-roles-shares"))
        paragraph(
            _("Baseline: a head without a role. One token can count in several rows: they may add up to over 100%."),
            "" if role else _("No role of this head is clearly above its baseline."),
            quiet=True,
        )
    with plane:
        _plane(frame, found, kind, layer, head)
    if role is None:
        return
    strongest, weakest = found.evidence(role.name, layer, head)
    with sentences:
        for title, chosen in (
            (_("Sentences where it does so most: {meaning}"), strongest),
            (_("Where it does so least"), [one for one in weakest if one[1] < strongest[-1][1]]),
        ):
            if chosen:
                paragraph(title.format(meaning=meanings[role.name]))
                for index, share in chosen:
                    _sentence(frame, kind, layer, head, index, share)


def _sentence(frame: PageFrame, kind: str, layer: int, head: int, index: int, share: float) -> None:
    """A link that opens a sentence of the probe set with this head."""
    source, target = pairs_of(frame.model)[index]
    params = {"source": source, "target": target, "kind": kind, "layer": str(layer + 1), "head": str(head + 1)}
    label = f"{_percent(share)} · {plain_markdown(source)}"
    st.page_link(frame.link_to("heads"), label=label, query_params=params)


def _plane(frame: PageFrame, found: Roles, kind: str, layer: int, head: int) -> None:
    layers, heads = found.confidence.shape
    places = [(row, column) for row in range(layers) for column in range(heads)]
    does, names = [found.role(*place) for place in places], cell_names()
    figure.draw(
        figure.built(
            figures.heads_in_the_plane,
            [[round(value, 5) for value in row] for row in found.plane().tolist()],
            [(row + 1, column + 1) for row, column in places],
            [role.name if role else None for role in does],
            [names[role.name] if role else _("no clear role") for role in does],
            places.index((layer, head)),
        ),
        "roles_plane",
        "head-map",
        on_pick=lambda index: frame.options.report("head", f"{kind}.{index // heads + 1}.{index % heads + 1}"),
        about=kind,
    )
