"""Position-wise: one token of the text is exchanged; attention carries that to others, the feed-forward network does
not."""

from pages.components import figure
from pages.components.pieces import numbered, stack_labels, typed_ids
from pages.components.sentences import paragraph, part_layout, point
from pages.feedforward.activity import choose_layer
from pages.frame.frame import PageFrame
from pages.frame.options import Options
from pages.frame.state import max_tokens
from pages.runtime import cache
from pages.runtime.shared import shared
from transformer.figures.feedforward import moved_columns
from transformer.inference.pretrained import Pretrained, readable
from transformer.probing.position_wise import Moved, moved
from transformer.texts import _
from transformer.tracing.trace import Trace

STILL = 1e-6  # a difference below it is rounding
SIDE = {"encoder": "source", "decoder": "target"}


@shared(queued=True)
def _moved(model: Pretrained, before: Trace, after: Trace, stack: str, layer: int, token: int) -> Moved:
    return moved(model, before, after, stack, layer, token)


def first_other(ids: tuple[int, ...], token: int, end: int) -> int:
    """What stands there instead unless a person types something: the next token of the text that is another one."""
    return next((number for number in (*ids[token + 1 :], *ids) if number not in (ids[token], end)), end)


def _other(model: Pretrained, options: Options, stack: str, ids: tuple[int, ...], token: int) -> tuple[int, str, str]:
    """Id and label of what stands there instead, and a sentence about what was typed. Draws the field."""
    tokenizer = model.tokenizer_of(SIDE[stack])
    default = first_other(ids, token, model.config.end_id)
    placeholder = readable(tokenizer.pieces([default]))[0]
    typed = options.text("other", _("Token to put there"), 100, placeholder=placeholder)
    found = typed_ids(tokenizer, typed)
    number = found[0] if found else default
    (label,) = readable(tokenizer.pieces([number]))
    sentence = ""
    if number == ids[token]:
        sentence = _("“{other}” is there already, so nothing changes. Type another token.")
    elif len(found) > 1:
        sentence = _("Your text has {count} tokens; the first, “{other}”, is put there.")
    elif typed.strip() and not found:
        sentence = _("Your text has no readable character, so “{other}” is put there.")
    return number, label, sentence.format(other=label, count=len(found))


def draw(frame: PageFrame, trace: Trace) -> None:
    options, model = frame.options, frame.model
    head, controls, picture = part_layout()
    first, second, third, fourth = controls.columns(4)
    stack, layer = choose_layer(options, trace, first, second)
    tokens = stack_labels(trace, stack)
    ids = trace.source_ids if stack == "encoder" else trace.target_in_ids
    with third:
        label = _("Token that changes")
        chosen = options.index("token", label, numbered(tokens, ": "), min(1, len(tokens) - 1))
    with fourth:
        number, label, about_typed = _other(model, options, stack, ids, chosen)
    changes = {"read" if stack == "encoder" else "fed": ((chosen, number),)}
    after = cache.retrace(model, trace, trace.interventions, max_tokens(), **changes)
    found = _moved(model, trace, after, stack, layer, chosen)
    enters, attention, network = (
        int((part.amax(-1) > STILL).sum()) for part in (found.enters, found.attention, found.feed_forward)
    )
    with head:
        text = _(
            "“{other}” instead of “{token}”: {enters} of {count} vectors that enter layer {layer} change, and "
            "attention changes {attention} of {count}, some only a little. The feed-forward network takes each token "
            "alone: where only the vector of “{other}” is new, {network} of {count} changes."
        )
        values = {"enters": enters, "attention": attention, "network": network, "count": len(tokens)}
        point(text.format(other=label, token=tokens[chosen], layer=layer + 1, **values))
        paragraph(about_typed)
    columns = [*tokens[:chosen], f"{tokens[chosen]} → {label}", *tokens[chosen + 1 :]]
    for column, name, part in zip(
        picture.columns(2),
        (_("After attention"), _("After the feed-forward network")),
        (found.attention, found.feed_forward),
        strict=True,
    ):
        with column:
            drawn = figure.built(moved_columns, columns, part.T.numpy(), float(part.max()), name)
            where = "self" if part is found.attention else "ff"
            about = f"{where}-{stack}-{layer + 1}-{chosen + 1}"
            figure.draw(drawn, f"feedforward-moved-{where}", "position-wise", first=True, about=about, trace=trace)
    note = _(
        "Two passes of the model are compared, with “{token}” and with “{other}” at position {position}. The first "
        "picture: how far each number that attention returns differs. The second one: the network reads the new "
        "vector at this position and the old ones at all others; in the whole pass each token's result is the one "
        "that its own vector gives. Each picture has its own scale."
    )
    masked = _("In the masked decoder no token before it changes.") if stack == "decoder" and trace.causal else ""
    paragraph(note.format(token=tokens[chosen], other=label, position=chosen + 1), masked, quiet=True)
