"""The lab's sections as scripts: translation and leak. test_probing uses the same helpers."""

import html
import re
from collections.abc import Iterator
from statistics import fmean

import pytest
from streamlit.testing.v1 import AppTest

from pages.components import translation
from pages.components.descriptions import in_words, trained_exact
from pages.components.translation import number, relative, short, words_row
from pages.lab.leak import checked, first_exchange, other_word, peeked, punch_line, runner_up, sides, verdict
from tests.support.build import tiny_pretrained
from tests.support.sections import cells, plain, prepared, raw, start
from transformer.analysis.translation import Word, perplexity
from transformer.inference.pretrained import load
from transformer.interventions.sets import NONE, Interventions


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    with prepared():
        yield


# -- translation ------------------------------------------------------------------------------------------------------


def test_words_stand_over_their_probabilities_and_what_differs_is_marked() -> None:
    app = start("translation", "zero=cross", "3142", model="sort")
    model, on = load("sort"), Interventions.parse("zero=cross")
    before, after = model.translate("3142"), model.translate("3142", interventions=on)
    first, second = re.findall(r'<p class="hs-tr-words">.*?</p>', raw(app))
    for row_html, wanted in ((first, before), (second, after)):
        assert re.findall(r"<span>(.*?)</span>", row_html) == [html.escape(token) for token in wanted.tokens]
        assert re.findall(r"<small>(.*?)</small>", row_html) == [html.escape(short(p)) for p in wanted.probabilities]
    marked = [len(re.findall("hs-tr-differs", row_html)) for row_html in (first, second)]
    assert (before.text, after.text) == ("1234", "0123446789") and marked == [0, 6]
    assert "Before: no switches" in plain(app) and "After: 8 heads knocked out in cross-attention" in plain(app)
    assert "Framed and bold: the words that differ." in plain(app)
    trace = model.trace("3142")
    rows = dict((row[0], row[1:]) for row in cells(raw(app)))
    numbers = [number(perplexity(pass_trace)) for pass_trace in (trace, model.retrace(trace, on))]
    assert rows["Perplexity of the original translation"] == numbers


def test_a_given_target_is_named_and_padding_alone_changes_nothing() -> None:
    app = start("translation", "pad=3", "3142", "1234", "sort")
    text = plain(app)
    assert "Perplexity of your target" in text and "No word differs." in text and "hs-tr-differs" not in raw(app)
    app = start("translation", "", "3142", "", "sort")
    assert "Set a switch to see its translation beside this one." in plain(app)
    app = start("translation", "padding=off pad=9", "3142", model="sort")  # before: without padding
    before = re.findall(r'<p class="hs-tr-words">.*?</p>', raw(app))[0]
    assert re.findall(r"<span>(.*?)</span>", before)[:-1] == list("1234")


def test_a_translation_that_was_cut_off_says_so() -> None:
    text = plain(start("translation", "scaling=off", limit=12))
    assert "With these switches the translation did not end within 12 tokens and was cut off." in text
    assert "Without switches the translation did not end within 12 tokens and was cut off." in text
    assert "did not end" not in plain(start("translation", "zero=cross.1.1", "3142", model="sort"))
    assert "… (cut off after 12 tokens)" in plain(start("leak", limit=12))


def test_numbers_as_people_read_them() -> None:
    texts = [number(value) for value in (0.0, 1e-7, 0.25, 123.456, 12345.6, 3e9, float("inf"), float("nan"))]
    assert texts == ["0", "1.0e-07", "0.25", "123.46", "12,346", "3.0e+09", "∞", "∞"]
    assert [short(p) for p in (0.0, 1e-6, 0.006, 0.999)] == ["0.00", "<.01", "0.01", "1.00"]
    pairs = [(1.55, 1.74), (2, 2), (2, 1.999999), (2, 1), (1, 25), (1, 1e9), (2, float("inf"))]
    texts = [relative(*pair) for pair in pairs]
    assert texts == ["+12%", "+0.0%", "+0.0%", "-50%", "× 25", "× 1.0e+09", "× ∞"]


def test_words_are_escaped() -> None:
    body = words_row([Word('<i>"', ('▁<i>"',), (0.5,))], [True])
    assert "&lt;i&gt;&quot;" in body and "<i>" not in body and "hs-tr-differs" in body and "--p:50.0%" in body


def test_switches_that_hide_everything_from_the_first_step_give_one_message() -> None:
    """If the future is visible, a hidden <s> leaves other keys; but the first decoding step has none."""
    for name in ("translation", "leak"):
        text = plain(start(name, "hide=target.1@decoder_self causal=off", target="mi nu re"))
        assert "nothing to attend to" in text
        assert text.endswith("To go on, undo this: token 1 of the target hidden in decoder self-attention.")


def test_a_note_about_scaling_stands_below_the_translation() -> None:
    app = start("translation", "scaling=off", "3142", model="sort")
    trace = load("sort").trace("3142")
    moved = relative(perplexity(trace), perplexity(load("sort").retrace(trace, Interventions.parse("scaling=off"))))
    row_html = re.findall(r'<p class="hs-tr-words">.*?</p>', raw(app))[1]
    marked = [words for words in re.findall(r'hs-tr-differs( hs-tr-special)?"', row_html) if not words]
    count = len(load("sort").translate("3142", interventions=Interventions.parse("scaling=off")).tokens) - 1  # </s>
    assert f"{len(marked)} of {count} words of this translation differ, and perplexity changed by {moved}." in plain(
        app
    )
    assert "so switching it off now only makes its softmax sharper." in plain(app)
    rows = dict((row[0], row[1:]) for row in cells(raw(app)))
    for label, recipe in (("trained with the division by √dₖ", "base"), ("trained without it", "no-scaling")):
        found = trained_exact(recipe)
        assert rows[label] == [f"{value:.1f}%" for value in (fmean(found), *found)]
    assert "trained without it" not in plain(start("translation", "zero=cross.1.1", "3142", model="sort"))


def test_punctuation_and_special_tokens_are_not_counted_as_words() -> None:
    texts = ["Der", "Mann", ",", "</s>", "ist", ".", "2", "–", "가"]
    pieces = [("</s>",) if text == "</s>" else (f"▁{text}",) for text in texts]
    counted = [text for text, own in zip(texts, pieces, strict=True) if translation.is_word(Word(text, own, (0.5,)))]
    assert counted == ["Der", "Mann", "ist", "2", "가"]


# -- the leak ---------------------------------------------------------------------------------------------------------


def test_sides_put_the_mask_on_and_off() -> None:
    rest = Interventions.parse("scaling=off padding=off pad=2")
    assert sides(rest) == (rest, rest + Interventions.parse("causal=off"))
    switches = Interventions.parse("causal=off@decoder_self.1 scaling=off")
    assert sides(switches) == (Interventions.parse("scaling=off"), switches)
    assert sides(NONE) == (NONE, Interventions.parse("causal=off"))
    assert "hs-check hs-bad" in checked(1e-7, 3) and "moved by 1e-07. It must be exactly 0" in checked(1e-7, 3)


def test_the_runner_up_is_the_best_token_that_is_not_there() -> None:
    trace = tiny_pretrained().trace("ka lo", "mi nu re")
    order = trace.logits[1].argsort(descending=True).tolist()
    wanted = next(token_id for token_id in order if token_id > 3 and token_id != trace.target_in_ids[2])
    token, probability = runner_up(trace, 2, (0, 1, 2, 3))
    assert token == wanted and probability == pytest.approx(float(trace.logits[1].softmax(-1)[wanted]))


def test_the_first_token_fed_reads_as_a_word_of_the_target() -> None:
    """In the sentence of the start: no beginning of the word there ("is" of "ist"), and no word of the source."""
    model = load("en-de")
    config = model.config
    trace = model.trace("The man who called me yesterday is my brother.")
    specials = (config.pad_id, config.unk_id, config.start_id, config.end_id)
    position, token = first_exchange(trace, model.tokenizer, specials)
    before, (after,) = trace.target_in[position], model.tokenizer.pieces([token])
    assert (before, after) == ("▁angerufen", "▁rief") and position >= len(trace.target_in) // 2
    assert model.tokenizer.pieces([runner_up(trace, 10, specials)[0]]) == ["▁is"]
    word, probability = other_word(trace, 10, model.tokenizer, specials)
    assert model.tokenizer.pieces([word]) == ["▁gehört"] and 0 < probability < 0.05
    assert other_word(trace, 9, model.tokenizer, specials) == (-1, 0.0)  # a comma: there is no word to replace


def test_the_punch_line_is_both_perplexities() -> None:
    app = start("leak", source="3142", target="1234", model="sort")
    model = load("sort")
    trace = model.trace("3142", "1234")
    numbers = [perplexity(model.retrace(trace, switch_set)) for switch_set in sides(NONE)]
    said = html.unescape(re.sub("<[^>]*>", " ", punch_line(*numbers)))
    assert " ".join(said.split()) in plain(app) and number(numbers[0]) in said and number(numbers[1]) in said
    tokens = [model.translate("3142", interventions=switch_set).tokens for switch_set in sides(NONE)]
    assert verdict(*numbers, *tokens) in plain(app)
    assert html.unescape(peeked(*numbers)) in plain(app) and "learns to cheat" in plain(app)
    assert "4.5 times as high" in peeked(2, 9) and "helps" in peeked(4, 2) and "hardly matters" in peeked(2, 2.01)


@pytest.mark.parametrize("switches", ["", "scaling=off", "causal=off", "causal=off@decoder_self.2 zero=cross.1"])
def test_the_past_is_exactly_0_with_the_mask_and_moves_without(switches: str) -> None:
    app = start("leak", switches, target="mi nu re sta ti")
    app.selectbox[0].select(5).run()
    text = plain(app)
    assert "✓ With the mask, all 4 predictions before it change by exactly 0." in text and "hs-check hs-good" in raw(
        app
    )
    rows = [row for row in cells(raw(app)) if len(row) == 5 and row[0].isdigit()]
    assert [row[3] for row in rows[:4]] == ["0"] * 4 and all(row[4] != "0" for row in rows)
    assert all(row[3] != "0" for row in rows[4:]) and "→" in rows[4][1] and "ti" not in rows[3][1]
    assert len(re.findall("hs-leak-changed", raw(app))) == 1 and "From position 5 on" in text
    rest, without = (
        in_words(switch_set, tiny_pretrained().config) for switch_set in sides(Interventions.parse(switches))
    )
    assert (f"With the mask: {rest}. Without: {without}." in text) == bool(switches) and "=" not in without
    most = max(float(row[4]) for row in rows[:4])
    assert f"predictions before it move by up to {most:.2f}." in text
    app.selectbox[0].select(2).run()
    assert "✓ With the mask, the prediction before it changes by exactly 0." in plain(app)


def test_a_sentence_says_which_token_is_fed() -> None:
    app = start("leak", target="mi nu re sta")
    app.selectbox[0].select(4).run()
    assert app.selectbox[0].options[2] == "4 · re"
    assert "At position 4, “" in plain(app) and "The model gave it p = " in plain(app)
    app.text_input[0].input("!").run()
    assert "At position 4, “!” is fed instead of “re”, as you typed." in plain(app)
    app.text_input[0].input("! <b>").run()
    assert re.search("At position 4, “!” is fed instead of “re”: the first of the [3-9] pieces you typed.", plain(app))
    app.text_input[0].input("re").run()
    assert "“re” is already fed at position 4. Type another token." in plain(app) and "hs-check hs-" not in raw(app)
    app.text_input[0].input("\x00 \u0007").run()
    assert "Your text has no readable character" in plain(app) and "hs-check hs-good" in raw(app)


@pytest.mark.parametrize(
    ("numbers", "tokens", "expected"),
    [
        ((4, 2), "ab ab", ["helps", "4.00 with the mask, 2.00 without", "and its", "stays the same."]),
        ((4, 2), "abc axc", ["helps", "but its", "changes from token 2 on."]),
        ((2, 9), "ab ab", ["confuses", "4.5 times as much", "but its", "stays the same."]),
        ((2, 9), "ab abc", ["confuses", "and its", "changes from token 3 on."]),
        ((2, 2.01), "ab ab", ["hardly matters", "and the", "stays the same."]),
        ((2, 2.01), "b a", ["hardly matters", "but the", "changes from token 1 on."]),
    ],
)
def test_every_case_of_the_verdict(numbers: tuple[float, float], tokens: str, expected: list[str]) -> None:
    before, after = tokens.split()
    sentence = verdict(*numbers, tuple(before), tuple(after))
    assert all(part in sentence for part in expected) and "{" not in sentence and sentence.count(". ") == 0


def test_a_target_of_one_token_has_no_later_token_to_change() -> None:
    def only_start() -> None:
        import dataclasses

        from pages.components.comparison import Compared
        from pages.frame.options import Options
        from pages.lab import leak
        from tests.support.build import tiny_pretrained
        from transformer.interventions.sets import NONE

        trace = dataclasses.replace(tiny_pretrained().trace("ka"), target_in=("<s>",))
        leak.draw(Compared(tiny_pretrained(), trace, trace, NONE, 40), Options("lab", False), {})

    app = AppTest.from_function(only_start).run()
    expected = "Only the start token is fed to the decoder here, so there is no later token to change."
    assert expected in plain(app)
    assert not app.selectbox
