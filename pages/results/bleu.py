"""BLEU by hand: n-grams, clipped counts, precisions, the brevity penalty and the product."""

import html
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components import saving
from pages.components.sentences import paragraph, point
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.state import max_tokens
from pages.runtime import cache
from transformer.analysis.bleu import ORDER, REFERENCES, Bleu, Ngram, bleu, chrf
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import NONE
from transformer.probing.probes import english_to_german
from transformer.text.bleu_tokenizers import USUAL, missing_tokenizer, tokenizer_for
from transformer.text.tokenizer import composed
from transformer.texts import UserError, _, translate

OPTIONS = ("pair", "hypothesis", *(f"reference{number}" for number in range(1, REFERENCES + 1)), "n")
LONGEST = 300  # characters of a text
# Sentences and right translations of our own.
PAIRS: Mapping[str, tuple[str, ...]] = {
    "She has been living in Berlin for three years.": (
        "Sie lebt seit drei Jahren in Berlin.",
        "Sie wohnt seit drei Jahren in Berlin.",
        "Seit drei Jahren wohnt sie in Berlin.",
    ),
    "If I had known that, I would have called you.": (
        "Wenn ich das gewusst hätte, hätte ich dich angerufen.",
        "Hätte ich das gewusst, hätte ich dich angerufen.",
        "Wenn ich das gewusst hätte, hätte ich Sie angerufen.",
    ),
    "The weather was so bad that we stayed at home all day.": (
        "Das Wetter war so schlecht, dass wir den ganzen Tag zu Hause geblieben sind.",
        "Das Wetter war so schlecht, dass wir den ganzen Tag zu Hause blieben.",
    ),
    "Nobody told me that the train would be late.": (
        "Niemand hat mir gesagt, dass der Zug Verspätung haben würde.",
        "Mir hat niemand gesagt, dass der Zug sich verspäten würde.",
        "Keiner sagte mir, dass der Zug Verspätung haben würde.",
    ),
    "We missed the bus because it was raining so hard.": (
        "Wir haben den Bus verpasst, weil es so stark geregnet hat.",
        "Weil es so stark regnete, haben wir den Bus verpasst.",
    ),
}
FIRST = 4  # index of the pair that the page opens on: en-de makes a mistake in it


def _start(model: Pretrained, source: str) -> str:
    """The model's translation of a source; "" if it cannot read it."""
    try:
        return cache.translate(model, source, NONE, max_tokens()).text.strip()
    except InputError:
        return ""


def draw(frame: PageFrame) -> None:
    model, options = frame.model, frame.options
    head = st.container()
    references: Sequence[str] = ()
    start, own = "", False
    if english_to_german(model):
        sources = list(PAIRS)
        label = _("Source, translated by {model}", model=model.name)
        source = sources[options.index("pair", label, sources, FIRST)]
        references, start = PAIRS[source], _start(model, source) or source
    else:
        start = _start(model, frame.state.source) or frame.state.source  # a model may write nothing
        references = (frame.state.target.strip() or start,)
        own = not frame.state.target.strip()
    hypothesis = options.prefilled("hypothesis", _("Hypothesis: the translation to score"), start, LONGEST)
    picture, below = st.container(), st.container()
    given = []
    with below:
        fields = [field for _row in range(0, REFERENCES, 2) for field in st.columns(2)]  # on a phone 1 to 4, down
    for number, field in enumerate(fields[:REFERENCES], start=1):
        with field:
            known = references[number - 1] if number <= len(references) else ""
            label = _("Reference {number}: a right translation", number=number)
            given.append(options.prefilled(f"reference{number}", label, known, LONGEST))
    try:
        found = bleu(hypothesis, given, tokenizer_for(model.languages[1]))
        if not found.hypothesis:  # sacreBLEU's tokenizer also removes "<skipped>"
            raise UserError("the hypothesis is empty; type a translation to score")
    except UserError as error:
        with head:
            message(capital(error) + ".", "error")
        return
    with picture:
        _picture(frame, found, hypothesis, given)
    if own and given[0] == start:
        with picture:
            paragraph(
                _("No target is known, so reference 1 is the model's own output. Type what is right."), quiet=True
            )
    point(_says(found, chrf(hypothesis, given)), head)


def _picture(frame: PageFrame, found: Bleu, hypothesis: str, given: Sequence[str]) -> None:
    n = int(
        frame.options.segment(
            "n", _("n-grams: groups of n words"), range(1, ORDER + 1), 1, lambda value: f"n = {value}"
        )
    )
    chrf_score = chrf(hypothesis, given)
    stem, caption = ["bleu", f"n{n}"], [hypothesis, *filter(str.strip, given)]
    with saving.saved("bleu", stem, caption, _rows(found, chrf_score)):
        st.html(_lit(found, n))
        left, right = st.columns([1, 1])
        with left:
            st.html(_counts(found, n))
        with right:
            st.html(_product(found, chrf_score))
    if alike := found.alike():
        text = _(
            "No reference has {words}, only a word that looks the same: its characters differ, and some may be "
            "invisible. sacreBLEU counts it as different."
        )
        paragraph(text.format(words=", ".join(f"“{one}”" for one in alike)))
    paragraph(
        _("Capital and small letters count as different."),
        _("Letters with their marks apart (NFD) are put together first (NFC), which sacreBLEU alone does not do.")
        if any(text != composed(text) for text in (hypothesis, *given))
        else "",
        _("The same score to the last digit: sacreBLEU, signature {signature}.", signature=found.signature),
        _tokenizer_sentence(frame.model.languages[1]),
        _("Where nothing matches, its smoothing “exp” counts a half, a quarter and so on, instead of 0.")
        if any(order.smoothed for order in found.orders)
        else "",
        quiet=True,
    )


def _tokenizer_sentence(language: str) -> str:
    """Which tokenizer divides texts of the language, unless it is the usual one."""
    if missing := missing_tokenizer(language):
        return f"{missing}."
    tokenizer = tokenizer_for(language)
    if tokenizer == USUAL:
        return ""
    return _("Its tokenizer for {language} is {tokenizer}.", language=translate(language), tokenizer=tokenizer)


def _rows(found: Bleu, chrf_score: float) -> list[list[object]]:
    """Everything counted, as a table: the n-grams of every n, then the precisions and what they make."""
    rows: list[list[object]] = [
        ["quantity", "n", "n-gram", "in the hypothesis", "most in one reference", "counted", "value"]
    ]
    for n, order in enumerate(found.orders, start=1):
        rows += [["n-gram", n, " ".join(one.words), one.count, one.most, one.clipped, None] for one in order.ngrams]
    for n, order in enumerate(found.orders, start=1):
        rows.append(["precision in %", n, None, order.total, None, order.matched, order.precision])
    rows.append(["brevity penalty", None, None, len(found.hypothesis), found.length, None, found.brevity_penalty])
    rows.append(["BLEU", *[None] * 5, found.score])
    rows.append(["chrF", *[None] * 5, chrf_score])
    return rows


def _ngrams(found: Bleu, n: int) -> Sequence[Ngram]:
    return found.orders[n - 1].ngrams if n <= len(found.orders) else ()


def _says(found: Bleu, chrf_score: float) -> str:
    first, last = found.orders[0], found.orders[-1]
    if len(found.hypothesis) == 1:  # as of a model that writes letters: they are one token together
        text = (
            _("BLEU {score} of 100: the hypothesis is a single token, and it is in a reference.")
            if first.matched
            else _("BLEU {score} of 100: the hypothesis is a single token, and no reference has it.")
        )
        more = _("It counts whole tokens; chrF counts characters and gives {chrf}.")
        return f"{text} {more}".format(score=f"{found.score:.1f}", chrf=f"{chrf_score:.1f}")
    text = _(
        "BLEU counts how many words and groups of words a translation shares with right ones. Here {one} of {all_one} "
        "words and {matched} of {total} groups of {n} words are shared, so BLEU is {score} of 100."
    )
    return text.format(
        score=f"{found.score:.1f}", one=first.matched, all_one=first.total, matched=last.matched, total=last.total,
        n=len(found.orders),
    )  # fmt: skip


def _lit(found: Bleu, n: int) -> str:
    """The hypothesis and the references, with the tokens of matched n-grams highlighted."""
    matched = {one.words for one in _ngrams(found, n) if one.most}

    def words(tokens: Sequence[str], lit: Sequence[bool]) -> str:
        spans = (
            f"<span{' class=hs-bleu-lit' if on else ''}>{html.escape(one)}</span>"
            for one, on in zip(tokens, lit, strict=True)
        )
        return "".join(spans)

    lines = [(_("Hypothesis"), words(found.hypothesis, found.lit(n)))]
    for number, tokens in enumerate(found.references, start=1):
        lit = [False] * len(tokens)
        for start in range(len(tokens) - n + 1):
            if tuple(tokens[start : start + n]) in matched:
                lit[start : start + n] = [True] * n
        lines.append((_("Reference {number}", number=number), words(tokens, lit)))
    rows = "".join(f"<div><b>{html.escape(name)}</b><p>{text}</p></div>" for name, text in lines)
    return f'<div class="hs-bleu-texts">{rows}</div>'


def _counts(found: Bleu, n: int) -> str:
    head = (_("{n}-gram", n=n), _("in the hypothesis"), _("most in one reference"), _("counted"))
    rows = [(" ".join(one.words), str(one.count), str(one.most), str(one.clipped)) for one in _ngrams(found, n)]
    if not rows:
        rows = [(_("the hypothesis is too short"), "0", "0", "0")]
    return f'<div class="hs-bleu-scroll" tabindex="0">{table(head, rows, "hs-bleu-counts")}</div>'


def _product(found: Bleu, chrf_score: float) -> str:
    """Precisions, brevity penalty and their product; chrF beside it."""
    rows = [
        (
            _("precision, n = {n}", n=n),
            f"{order.matched} / {order.total}" + (f" {_('(smoothed)')}" if order.smoothed else ""),
            f"{order.precision:.2f}%",
        )
        for n, order in enumerate(found.orders, start=1)
    ]
    lengths = _("tokens: {hypothesis}, of the closest reference {reference}").format(
        hypothesis=len(found.hypothesis), reference=found.length
    )
    rows.append((_("brevity penalty"), lengths, f"{found.brevity_penalty:.4f}"))
    count = len(found.orders)
    product = _("penalty × (p₁ ⋯ p{n})^(1/{count})", n="₁₂₃₄"[count - 1], count=count)
    if count == 1:
        product = _("penalty × p₁")
    rows.append(("BLEU", product, f"{found.score:.4f}"))
    rows.append(("chrF", _("of characters, up to 6 at a time"), f"{chrf_score:.4f}"))
    return table(("", "", ""), rows, "hs-bleu-product")
