"""The sentence pair: two fields, examples, and messages about what is wrong."""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from pages.frame import live as engine
from pages.frame.examples import examples
from pages.frame.menus import open_menu
from pages.frame.messages import capital, message
from pages.frame.state import (
    LONGEST_TEXT,
    SOURCE,
    TARGET,
    State,
    change_state,
    current_state,
    keep_sentence_of_stop,
    max_characters,
    max_tokens,
    session,
    store_state,
)
from pages.runtime import cache, session_models
from pages.runtime.texts import plain_markdown
from transformer.analysis.language import other_language, script
from transformer.checkpoints.languages import SPOKEN
from transformer.inference.pretrained import InputError, Pretrained, readable
from transformer.probing.probes import english_to_german
from transformer.text.numerals import PATTERN
from transformer.text.toys import OUTSIDE, outside, plain
from transformer.texts import N_, _, in_language, reader_language, translate
from transformer.tracing.trace import Trace
from transformer.view.examples import Example
from transformer.view.languages import languages, load_language

LANGUAGES_OF_SCRIPTS = {"HANGUL": "ko"}  # script -> the language of this app that is written in it
# How the names of models begin that read Hangul, and what of it they read: the bundled ones, and those that
# `headscope get Helsinki-NLP/opus-mt-ko-en` and the like fetch. frontend/src/site/check.js has the bundled ones, too.
NUMERALS, SENTENCES = N_("digits or Korean numerals"), N_("Korean sentences")
READERS = {"ko-numbers": NUMERALS, "ko-en": SENTENCES, "opus-mt-ko-": SENTENCES}
LANGUAGE_MENUS = ("headscope_source_language", "headscope_target_language")  # keys
LONGEST_QUOTE = 20  # characters of an unknown token that a message quotes
TRAINED_UP_TO = "trained_up_to"  # in metrics.json: tokens with </s> that 99.9% of the training's sources have at most


def _store_typed() -> None:
    """Callback: take over the texts of both fields."""
    change_state(**{side: st.session_state[side][: LONGEST_TEXT + 1] for side in (SOURCE, TARGET)})
    keep_sentence_of_stop()


def take_over_typed() -> None:
    """Take over what was typed since the last run into fields that do not ask for a run (`fields`, quiet)."""
    drawn, state = session().drawn_texts, current_state()
    if state is None or drawn != (state.source, state.target):  # Python has changed the texts
        return
    now = tuple(st.session_state.get(side) for side in (SOURCE, TARGET))
    if now != drawn and all(isinstance(text, str) for text in now):
        _store_typed()


def _open_example(example: Example) -> None:
    """Callback: show an example's sentence pair and its view."""
    state = current_state()
    if state is not None:
        session().example_chosen = True
        view = state.view.of_example(example.view)
        store_state(
            replace(state, source=example.source, target=example.target, view=view, revision=state.revision + 1)
        )
        keep_sentence_of_stop()


def _label(model: Pretrained, side: str, text: str, limit: int) -> str:
    """Label of a field with the number of tokens used, so that a person sees the limit coming. Of a text that is too
    long only the beginning is counted."""
    text = text[: max_characters()]
    language = plain_markdown(translate(model.languages[0 if side == SOURCE else 1]))
    used = len(model.tokenizer_of(side).encode(text))
    if side == SOURCE:
        name = _("Source · {language} · {used} of {limit} tokens")
    elif used:
        name = _("Target · {language} · your text · {used} of {limit} tokens")
    else:
        name = _("Target · {language} · empty: the model writes it, up to {limit} tokens")
    if model.languages == session_models.UNNAMED:
        name = name.replace(" · {language}", "")
    return name.format(language=language, used=used + 1 if used else 0, limit=limit)


def example_menu(header: DeltaGenerator, model: Pretrained, state: State, opens: StreamlitPage | None) -> None:
    """Draw the menu of examples. opens: the page on which a chosen example opens; None: this one."""
    chosen, session().example_chosen = session().example_chosen, False
    if chosen and opens is not None:
        st.switch_page(opens)
    loaded = examples(model)
    # A new key makes a new, closed menu, so that a chosen example is not covered.
    menu = open_menu(header, _("Examples"), f"hs-examples-{state.revision}") if loaded else None
    if menu is not None:
        with menu:
            for group in dict.fromkeys(example.group for example in loaded):
                if group:
                    st.html(f'<h3 class="hs-group">{html.escape(translate(group))}</h3>')
                for index, example in enumerate(loaded):
                    if example.group == group:
                        _example_button(index, example)


def _example_button(index: int, example: Example) -> None:
    st.button(
        plain_markdown(translate(example.title)),
        key=f"example-{index}",
        on_click=_open_example,
        args=(example,),
        width="stretch",
    )
    st.html(f'<p class="hs-look">{html.escape(example.source)}<br>{html.escape(translate(example.look))}</p>')


def fields(model: Pretrained, state: State, page_changed: bool, new_session: bool, quiet: bool) -> None:
    """The two text fields; typed text stays, whatever happens to it.

    page_changed: the session was on another page before this run. new_session: the browser's page may be older than the
    session, and its fields may hold what a person typed while the server was away. quiet: typing asks for no run, since
    the browser computes what is shown; the next run takes the texts over (`take_over_typed`).
    """
    limit = model.token_limit(max_tokens())
    with st.container(key="hs-sentence"):
        left, right = st.columns(2, gap="small")
    shown = {}
    if model.codes is not None:
        _language_menus(model, (left, right))
    for column, side, text in ((left, SOURCE, state.source), (right, TARGET, state.target)):
        if not new_session and (page_changed or st.session_state.get(side) != text):
            st.session_state[side] = text
        shown[side] = column.text_input(
            _label(model, side, text, limit),
            text if new_session else "",  # the field of an older page keeps what it holds
            key=side,
            on_change="ignore" if quiet else _store_typed,
            placeholder=_("type a sentence") if side == SOURCE else _("the model's own output"),
            live=engine.PAUSE,
        )
    session().drawn_texts = (shown[SOURCE], shown[TARGET])
    if new_session and shown != {SOURCE: state.source, TARGET: state.target}:
        change_state(source=shown[SOURCE], target=shown[TARGET])
        st.rerun()


def _language_menus(model: Pretrained, columns: Sequence[DeltaGenerator]) -> None:
    """Source and target language of a model that knows many; the source text stays where one is chosen."""
    assert model.codes is not None
    labels = (_("Language of the source"), _("Language of the target"))
    for column, key, label, language in zip(columns, LANGUAGE_MENUS, labels, model.languages, strict=True):
        st.session_state[key] = language
        column.selectbox(
            label, sorted(model.codes.ids), key=key, on_change=_choose_languages, label_visibility="collapsed"
        )


def _choose_languages() -> None:
    """Callback: open the model for the two languages of the menus."""
    state, (source, target) = current_state(), (st.session_state.get(key) for key in LANGUAGE_MENUS)
    if state is not None and isinstance(source, str) and isinstance(target, str):
        name = f"{session_models.base_name(state.checkpoint)}{SPOKEN}{source}-{target}"
        store_state(replace(state, checkpoint=name, target="", revision=state.revision + 1))


def example_line(model: Pretrained, state: State) -> None:
    """What to look for in the picture of an example."""
    for example in examples(model):
        if (example.source, example.target) == (state.source, state.target):
            look = html.escape(translate(example.look))
            st.html(f'<p class="hs-look-for" tabindex="0"><b>{_("Look for")}</b> {look}</p>')


def _unreadable(model: Pretrained, text: str, ids: Sequence[int]) -> bool:
    """Whether a model that is no toy can read nothing of a text. ids: of its tokens, with </s>.

    en-de has some letters of other scripts in its vocabulary, because they stood in names, and a model of Korean with a
    closed vocabulary writes in Latin ones, so the script decides. Other models cannot read a text if most of its tokens
    are unknown to them.
    """
    written_in = script(text)
    if english_to_german(model):
        return written_in not in ("LATIN", None)
    if model.words:
        return written_in not in ("HANGUL", None)
    unknown = ids.count(model.config.unk_id)
    return written_in is not None and 2 * unknown > len(ids) - 1  # without </s>


def _warn_of_text(
    model: Pretrained,
    text: str,
    ids: Sequence[int],
    switch: Callable[[str], None],
    example: Example | None,
) -> None:
    """Warn of a text that makes the output meaningless, because it is in a language that the model does not read; and
    of words that it was not taught. ids: of the text's tokens; switch: to another model, by its name; example: of the
    model, to offer instead."""
    language = N_("English") if english_to_german(model) else N_("Korean") if model.words else model.languages[0]
    toy = outside(text, model.languages)
    if toy or _unreadable(model, text, ids):
        sentence = N_("This model reads {language} only. It cannot read this text; its output means nothing.")
        if toy:
            sentence, language = OUTSIDE, toy.what
        said_in = [reader_language()]
        if (code := LANGUAGES_OF_SCRIPTS.get(script(text) or "")) in languages() and code != said_in[0].code:
            said_in.insert(0, load_language(code))  # the language of the text comes first
        warnings = []
        for spoken in said_in:
            with in_language(spoken):
                warnings.append(translate(sentence, language=translate(language)))
        message(" ".join(warnings))
        _offer(model, text, switch, example)
    elif (other := other_language(text, model.languages[0])) is not None:
        message(_("This looks like {other}. This model reads {language}, so its output means little.",
            other=translate(other), language=translate(language)))  # fmt: skip
    elif model.words and (told := model.words.told(text)):
        message(told, "note")


def _readers(model: Pretrained, text: str) -> list[tuple[str, str]]:
    """Other models that read a text in Hangul, and what they read: for a number those of numerals, else those of
    sentences. If there are none of these, the others."""
    if script(text) != "HANGUL":
        return []
    others = [name for name in session_models.names() if name != model.name]
    found = [(name, reads) for begins, reads in READERS.items() for name in others if name.startswith(begins)]
    wanted = NUMERALS if re.fullmatch(PATTERN, plain(text)) else SENTENCES
    return [reader for reader in found if reader[1] == wanted] or found


def _offer(model: Pretrained, text: str, switch: Callable[[str], None], example: Example | None) -> None:
    """Buttons: a text that this model reads, and models that read this text."""
    with st.container(horizontal=True, gap="small", key="hs-offers"):
        if example is not None:
            label = _("Example: {text}", text=example.source)
            st.button(plain_markdown(label), key="offer-example", on_click=_open_example, args=(example,))
        for name, language in _readers(model, text):
            label = _("Open {name}, which reads {language}", name=name, language=translate(language))
            st.button(plain_markdown(label), key=f"offer-{name}", on_click=_open_reader, args=(name, switch))


def _open_reader(name: str, switch: Callable[[str], None]) -> None:
    """Callback: switch to a model; the text stays if the model knows all its tokens, or names the words that it does
    not know."""
    before = current_state()
    switch(name)
    after = current_state()
    if before is None or after is None or before.source == after.source:
        return
    model = session_models.load(name)
    try:
        known = model.config.unk_id not in model.encode(before.source, limit=max_tokens())
    except InputError:
        return
    if known or model.words:
        change_state(source=before.source, target="", view=replace(after.view, cell=None))


def _note_length(model: Pretrained, tokens: int) -> None:
    """Say where a text is longer than nearly all texts of the model's training."""
    longest = model.metrics.get(TRAINED_UP_TO)
    if isinstance(longest, int) and tokens > longest:
        sentence = _(
            "This text has {count} tokens. Nearly all texts of the model's training had at most {longest}, so expect "
            "mistakes."
        )
        message(sentence.format(count=tokens, longest=longest), "note")


def _tokens(model: Pretrained, side: str, text: str) -> tuple[list[int], tuple[str, ...]]:
    """Ids and labels of a text, with </s>. Raises InputError."""
    return model.encode(text, side, max_tokens()), readable(model.surfaces(text, side))


def traced(model: Pretrained, state: State, switch: Callable[[str], None], live: bool) -> tuple[Trace | None, bool]:
    """The trace of the typed texts, and whether they can be traced; a message says why not. switch: to another model,
    by its name. live: the browser computes the trace, so it is None here."""
    too_long = {
        state.source: _("The source text has {count:,} characters. At most {limit:,} are allowed; shorten it."),
        state.target: _("The target text has {count:,} characters. At most {limit:,} are allowed; shorten it."),
    }
    for text, sentence in too_long.items():
        if len(text) > max_characters():
            message(sentence.format(count=len(text), limit=max_characters()), "error")
            return None, False
    given, trace = state.target.strip() and state.target, None
    example = next(iter(examples(model)), None)  # read before anything is drawn, since it may take a while
    try:
        sides = [_tokens(model, SOURCE, state.source), *([_tokens(model, TARGET, given)] if given else [])]
        if not live:
            trace = cache.trace(model, model.name, state.source, given, max_tokens())
    except InputError as error:
        message(capital(error) + ".", "error")
        return None, False
    source_ids = sides[0][0]
    _warn_of_text(model, state.source, source_ids, switch, example)
    _note_length(model, len(source_ids))
    unknown = [
        label if len(label) <= LONGEST_QUOTE else f"{label[:LONGEST_QUOTE]}…"
        for ids, labels in sides
        for token_id, label in zip(ids, labels, strict=True)
        if token_id == model.config.unk_id
    ]
    if unknown:
        message(_("Not in this model's vocabulary, read as <unk>: {tokens}", tokens=" ".join(unknown)[:200]), "note")
    if trace is not None and not trace.complete:
        message(_("The translation was cut off at {limit} tokens.", limit=len(trace.target_out)), "note")
    return trace, True
