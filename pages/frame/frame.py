"""The page frame, drawn once by app.py around the content of every page.

Header, checkpoint menu, notices, sentence fields and the menu of parts come before the content; the address, the menus
of the header and the button for big text come after it: what is drawn first is sent first.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import streamlit as st
from streamlit.navigation.page import StreamlitPage

import transformer
from pages.frame import downloads, lesson, link, live, navigation, room, sentence
from pages.frame.examples import examples
from pages.frame.messages import capital, message, note_waiting_switches
from pages.frame.options import PANEL, Options, Value, show_value
from pages.frame.state import (
    CHECKPOINT,
    LESSON,
    OF_VIEWER,
    ROOM,
    SOURCE,
    STOP,
    TARGET,
    State,
    add_notices,
    change_state,
    current_state,
    linked_checkpoint,
    max_tokens,
    page_state,
    read_switches,
    session,
    state_of_link,
    store_state,
    write_address,
)
from pages.frame.styles import run_style
from pages.runtime import cache, language, session_models, short_links, viewer
from pages.runtime.streamlit import (
    bound_to_page,
    rerun_after_reconnect,
    went_through_history,
)
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import InterventionError, Interventions, Paint, Switch, layers_of
from transformer.lessons import Link
from transformer.model.config import ModelConfig
from transformer.texts import _, translate
from transformer.tracing.finite import NotFiniteError
from transformer.tracing.trace import KINDS, Trace
from transformer.view.state import View, view_from_params

OPEN_MODEL = "open"  # query parameter of links to the model of a run; not kept in the address


@dataclass(frozen=True)
class Part:
    """A part of a page.

    label: in the menu of the parts, marked with N_. options: names in links of what is chosen in it.
    draw: called with the frame and, where the page shows the sentence pair, with its pass, which is None where the
        browser computes it (`Content.live`).
    alone: it reads no sentence pair, and the page does not show it. switches: it applies the switches that are set.
    """

    label: str
    draw: Callable[..., None]
    options: tuple[str, ...] = ()
    alone: bool = False
    switches: bool = False


@dataclass(frozen=True)
class Content:
    """The content of a page, below the frame.

    page: draws it, where it is more than the open part. table: name in links -> part; the first is the default.
    page_options: names in links of options beside those of the parts.
    shown: whether a model has what a part is about; another part stays hidden unless a link opens it.
    sentence: whether the page shows the sentence pair. waits: a note says where switches that are set have no effect.
    beyond: parts about nothing in the paper, so that the page Paper does not list them; ("",) for a page without parts.
    live: whether a part, in this state, needs no pass where the browser has the engine.
    """

    page: Callable[[PageFrame], None] | None = None
    table: Mapping[str, Part] = field(default_factory=dict)
    page_options: tuple[str, ...] = ()
    shown: Callable[[ModelConfig, str], bool] = lambda config, part: True
    sentence: bool = True
    waits: bool = False
    beyond: Collection[str] = ()
    live: Callable[[State, str], bool] = lambda state, part: False

    def parts(self) -> dict[str, str]:
        """Name in links -> label, in the reader's language."""
        return {name: translate(part.label) for name, part in self.table.items()}

    @property
    def alone(self) -> set[str]:
        """The parts that read no sentence pair."""
        return {name for name, part in self.table.items() if part.alone}

    @property
    def options(self) -> tuple[str, ...]:
        """Names in links of all options but the part and the open panels."""
        return tuple(dict.fromkeys(chain(self.page_options, *(part.options for part in self.table.values()))))

    @property
    def names(self) -> tuple[str, ...]:
        """All names of this page's options in links."""
        return (*(("part",) if self.table else ()), *self.options, PANEL)

    def draw(self, frame: PageFrame) -> None:
        """Draw the content; a message where the model computes no numbers to draw."""
        try:
            (self.page or self.draw_part)(frame)
        except NotFiniteError as error:
            message(capital(error) + ".", "error")

    def draw_part(self, frame: PageFrame) -> None:
        """Draw the open part, but not without the pass that it reads."""
        part = self.table[frame.part]
        reads = self.sentence and not part.alone
        if reads and frame.trace is None and not frame.live:
            return
        if self.waits and not part.switches:
            note_waiting_switches(frame.state.switches)
        part.draw(frame, *([frame.trace] if reads else []))


@dataclass(frozen=True)
class Page:
    """A page of the app: its content is `CONTENT` in pages/<name>/page.py, its style every CSS file of that folder.

    name: its folder. first: whether a link without a path opens it.
    title: in the header and the browser's tab. about: what it shows, as README.md says it.
    group: heading of the menu that the header has it in; "" for none.
    opens_models: whether a finished run of the Training page links to it, to open its model there.
    """

    name: str
    title: str
    about: str
    group: str = ""
    first: bool = False
    opens_models: bool = False

    @property
    def path(self) -> str:
        """Its path in links."""
        return "" if self.first else self.name

    @property
    def content(self) -> Content:
        """Imported when the page is opened for the first time, not when the app starts."""
        content: Content = importlib.import_module(f"pages.{self.name}.page").CONTENT
        return content


Links = Mapping[Page, StreamlitPage]


@dataclass
class PageFrame:
    """What the frame knows, for the content of a page.

    model: the chosen checkpoint. options: those of this page. links: every page, in the order of the header. header:
        its container.
    page_changed: the session was on another page before this run, so the widgets of this page are new.
    part: the chosen part of the page.
    trace: the pass of the sentence pair. None if the page shows no pair, if the pass failed, which the frame has said,
        or if the page is live.
    live: the browser computes the pass of the sentence pair. pair: the page shows the sentence pair, because this part
        reads it. downloads: the header offers files of the trace.
    lesson: the panel of the open lesson; at_stop: this run opens a stop's own view.
    """

    model: Pretrained
    options: Options
    links: Links
    header: st.delta_generator.DeltaGenerator
    page_changed: bool
    part: str = ""
    trace: Trace | None = None
    live: bool = False
    pair: bool = True
    downloads: bool = False
    lesson: lesson.Panel | None = None
    at_stop: bool = False
    _drawn_last: list[Callable[[], None]] = field(default_factory=list)

    @property
    def page(self) -> Page:
        """The open page."""
        return next(page for page in self.links if page.name == self.options.page)

    def link_to(self, name: str) -> StreamlitPage:
        """The link to a page. name: its folder."""
        return next(link for page, link in self.links.items() if page.name == name)

    @property
    def state(self) -> State:
        """The state as it is now."""
        return page_state()

    def pass_of_sentence(self) -> Trace:
        """The pass of the sentence pair, computed by the server now if only the browser has it. Raises InputError."""
        return self._pass_of(self.state)

    def _pass_of(self, state: State) -> Trace:
        return self.trace or cache.trace(self.model, self.model.name, state.source, state.target, max_tokens())

    def offer_downloads(self) -> None:
        """Draw the menu of downloads of the trace."""
        self.downloads = True

    def draw_last(self, draw: Callable[[], None]) -> None:
        """Draw something slow after everything else, even after the menus of the header."""
        self._drawn_last.append(bound_to_page(draw))

    def write_address(self) -> None:
        """Write what is on the screen to the address; of a teacher, also send it to the class."""
        write_address(self.state, self.options.for_address(), self.page.content.names)
        room.show(self.page.path)

    def finish(self) -> None:
        """Write the address, which describes what is on the screen; then draw the menus of the header."""
        page = self.page
        self.write_address()
        room.offer_back(page.path)
        if self.lesson is not None:
            if self.at_stop:
                lesson.keep_stop_view(self.lesson.lesson, self.lesson.number, page.name)
            self.lesson.offer_back(page.name)
        opens = None if self.pair else next(link for page, link in self.links.items() if page.first)
        sentence.example_menu(self.header, self.model, self.state, opens)
        if self.downloads:
            # A file is made when it is asked for, outside the run that knows the state.
            downloads.download_menu(self.header, partial(self._pass_of, self.state), self.state)
        params = {name: text for name, text in session().address.items() if name not in (LESSON, ROOM, STOP)}
        view = Link(page.path, tuple(params.items()))
        link.link_menu(self.header, view, page.title, self.link_to("lessons"))
        with self.header:
            st.button("Aa", key="hs-big", on_click=_toggle_big, help=_("Big text, for a projector"))
        for draw in self._drawn_last:
            draw()


# -- what pages add to the runs of other pages ------------------------------------------------------------------------

_every_run: list[Callable[[], None]] = []
_find_model: list[Callable[[str], str | None]] = []


def on_every_run(function: Callable[[], None]) -> None:
    """Call a page's function at the start of every run of every page."""
    _every_run.append(function)


def on_open_model(function: Callable[[str], str | None]) -> None:
    """Ask a page's function which model a link with `open=` opens. It gets the text after `open=` and returns the name
    of a model, "" for no model, None if it does not know the text."""
    _find_model.append(function)


# -- callbacks --------------------------------------------------------------------------------------------------------


def _toggle_big() -> None:
    """Callback: switch between big and usual text."""
    view = page_state().view
    viewer.keep_big(not view.big)
    change_state(view=replace(view, big=not view.big), renew=True)


def switch_checkpoint(name: str) -> None:
    """Switch to another checkpoint.

    Between models of the same two languages the sentence stays, so that they can be compared. A model of other
    languages starts with the text last typed for them, or with its first example: an English sentence means nothing to
    a model that sorts.
    """
    old = current_state()
    if old is None:
        return
    state = replace(old, checkpoint=name, revision=old.revision + 1)
    typed = session().typed_texts
    try:
        before, after = session_models.load(old.checkpoint), session_models.load(name)
    except (transformer.CheckpointError, KeyError):
        store_state(state)  # the page shows the error
        return
    if before.languages != after.languages:
        typed[before.languages] = (state.source, state.target)
        first = examples(after)[:1]
        if after.languages in typed:
            source, target = typed[after.languages]
            state = replace(state, source=source, target=target)
        elif first:
            view = replace(state.view, training=None).of_example(first[0].view)
            state = replace(state, source=first[0].source, target=first[0].target, view=view)
    store_state(state)


def _choose_checkpoint() -> None:
    """Callback: switch to the checkpoint that was chosen in the menu."""
    name = st.session_state.get(CHECKPOINT)
    if isinstance(name, str) and session_models.known(name):
        switch_checkpoint(name)
    else:
        add_notices(_("The checkpoint {name!r} is no longer in its folder.", name=str(name)[:60]))


# -- before the content -----------------------------------------------------------------------------------------------


def fitting_switches(switches: Interventions, model: Pretrained) -> Interventions:
    """The switches whose layers and heads this model has; another checkpoint may have fewer."""

    def fits(switch: Switch) -> bool:
        try:
            Interventions((switch,)).check(model.config)
        except InterventionError:
            return False
        return True

    return Interventions(tuple(switch for switch in switches.switches if fits(switch)))


def fitting(view: View, model: Pretrained) -> View:
    """The view with a layer and a head that this model has; another checkpoint may have fewer."""
    layers = max(layers_of(model.config, kind) for kind in KINDS)
    layer = None if view.layer is None else min(view.layer, layers - 1)
    return replace(view, layer=layer, head=None if view.head is None else min(view.head, model.config.heads - 1))


def _open_linked_model(state: State, follows_link: bool) -> State:
    """The state with the model of a link within the app, as if it had been chosen in the menu. follows_link: this run
    follows a link of another page. A link of the Training page names a run instead of a model."""
    if follows_link and CHECKPOINT in st.query_params:
        linked, notices = linked_checkpoint(st.query_params[CHECKPOINT], state.checkpoint)
        if linked != state.checkpoint:
            switch_checkpoint(linked)
        state = current_state() or state
        state = store_state(replace(state, notices=(*state.notices, *notices)))
    asked = st.query_params.get(OPEN_MODEL)
    if asked is None:
        return state
    model_name = next((name for find in _find_model if (name := find(asked)) is not None), None)
    if model_name:
        switch_checkpoint(model_name)
    state = current_state() or state
    if model_name is None:
        unknown = _("The link opens the model of a run that is not on your Training page. Choose a model in the menu.")
        state = store_state(replace(state, notices=(*state.notices, unknown)))
    return state


def _header(page: Page, links: Links, state: State, page_changed: bool) -> st.delta_generator.DeltaGenerator:
    """Draw the header as far as it comes before the content; the menus of `finish` are added to it."""
    header = st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-header")
    with header:
        # Streamlit's skip link leads to an element that contains this header; the stylesheet hides that link.
        skip = f'<a class="hs-skip" href="#hs-content">{html.escape(_("Skip to the content"))}</a>'
        h1 = f'<h1 class="hs-spoken">{html.escape(page.title)}</h1>'
        st.html(f'{skip}{h1}<div class="hs-brand">Head<span>scope</span></div>', width="content")
        navigation.draw(page, links)
        # On a phone a button that unfolds what follows, but the examples (style.css).
        tools = f'<details class="hs-tools"><summary aria-label="{html.escape(_("More"))}">⋯</summary></details>'
        st.html(f'<div class="hs-spring">{tools}</div>', width="stretch")
        show_value(CHECKPOINT, state.checkpoint, page_changed)
        # The open checkpoint may have been deleted, and is listed nevertheless.
        titles = {name: session_models.title(name) for name in (*session_models.names(), state.checkpoint)}
        st.selectbox(
            _("Checkpoint"),
            list(titles),
            key=CHECKPOINT,
            format_func=titles.__getitem__,
            on_change=_choose_checkpoint,
            label_visibility="collapsed",
        )
        language.menu()
        viewer.tell_browser(navigation.open_page)
    names = " ".join(listed.path for listed in links)  # for host/streamlit.js: which paths are pages
    st.html(f'<div id="hs-content" tabindex="-1" data-pages="{names}"></div>')
    return header


def _read_short_link() -> tuple[str, ...]:
    """Replace a short link in the address by the link that it stands for. Returns a notice if it is not known."""
    code = st.query_params.get(short_links.PARAM)
    if code is None:
        return ()
    params = short_links.find(code)
    st.query_params.from_dict(params or {})
    if params is not None:
        return ()
    unknown = _("This server does not know the short link {code!r}. Ask for a new one, or for the long link.")
    return (unknown.format(code=code[:20]),)


def _open_model(state: State) -> Pretrained:
    """The chosen model. If it cannot be opened, shows a message and stops the run."""
    if not session_models.known(state.checkpoint):
        sentence = _(
            "The checkpoint {name!r} is no longer in its folder. Put it back and reload the page, or choose another "
            "one."
        )
        message(sentence.format(name=state.checkpoint), "error")
        st.stop()
    try:
        return session_models.load(state.checkpoint)
    except transformer.CheckpointError as error:
        message(_("This checkpoint cannot be opened: {error}.", error=error), "error")
        st.stop()


def _options_of(page: Page, params: Mapping[str, str]) -> dict[str, Value]:
    """The options of a page that a link chooses."""
    return {name: text for name, text in params.items() if name in page.content.names}


def _read_link(state: State, model: Pretrained, page: Page) -> State:
    """The state with everything the link asks for: picture, switches, options of the page."""
    config, params = model.config, st.query_params.to_dict()
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    first = examples(model)[:1]
    if first and "source" not in params:
        state = replace(state, source=first[0].source, target=state.target or first[0].target)
    # A visitor without a link sees the first example, with its view.
    start = [example.view for example in examples(model) if example.source == state.source]
    asked = _options_of(page, params)
    params = {name: text for name, text in params.items() if name not in asked}
    first_view = start[0] if start and not {"kind", "layer", "head"} & set(params) else None
    view, misread = view_from_params(params, layers, config.heads, first_view)
    if "big" not in params:
        view = replace(view, big=state.view.big)
    if not params.keys() - OF_VIEWER:
        view = replace(view, sight="first")
    switches, wrong = read_switches(params, config)
    chosen = {page.name: asked} if asked else {}
    notices = (*state.notices, *misread, *wrong)
    return store_state(replace(state, view=view, switches=switches, chosen=chosen, notices=notices))


def _follow_link(state: State, model: Pretrained, page: Page) -> State:
    """The state with what a link within the app asks for; everything else stays."""
    config, params = model.config, st.query_params.to_dict()
    params = {name: text for name, text in params.items() if name not in page.content.names}
    if SOURCE in params:
        state = replace(state, source=params[SOURCE], target=params.get(TARGET, ""))
    start = replace(state.view, cell=None) if {SOURCE, "kind"} & params.keys() else state.view
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    view, misread = view_from_params(params, layers, config.heads, start)
    switches, wrong = read_switches(params, config)
    notices = (*state.notices, *misread, *wrong)
    return store_state(replace(state, view=view, switches=switches or state.switches, notices=notices))


def _drop_missing_switches(state: State, model: Pretrained) -> State:
    """The state without switches for layers, heads or positions that this model lacks; a notice names them."""
    state = replace(state, switches=state.switches.without(Paint))  # from a browser: no picture can explain them
    switches = fitting_switches(state.switches, model)
    if switches == state.switches:
        return state
    lost = [str(Interventions((switch,))) for switch in state.switches.switches if switch not in switches.switches]
    sentence = _("This model has no such layer, head, neuron or position, so these switches were removed: {switches}.")
    notice = sentence.format(switches=" ".join(lost))
    return store_state(replace(state, switches=switches, notices=(*state.notices, notice)))


def _drop_missing_lesson(state: State, paths: tuple[str, ...]) -> State:
    """The state without a lesson that the server does not have or cannot read; a notice says so."""
    if not state.lesson or lesson.open_lesson(state, paths) is not None:
        return state
    unknown = _("There is no lesson {name!r} on this server that can be read. The page Lessons lists all.")
    notices = (*state.notices, unknown.format(name=state.lesson[:40]))
    return store_state(replace(state, lesson="", stop=1, notices=notices))


def _open_lesson(frame: PageFrame, paths: tuple[str, ...], parts: tuple[str, ...], at_stop: bool) -> None:
    """Draw the panel of the lesson, if one is open. paths: of all pages; parts: labels of the page's other parts;
    at_stop: this run opens a stop's own view."""
    state = frame.state
    found = lesson.open_lesson(state, paths)
    if found is None:
        return

    number, trace_id = min(max(1, state.stop), len(found.stops)), frame.trace.id if frame.trace is not None else ""
    evaluate = partial(lesson.evaluate, frame.model, frame.pass_of_sentence)
    frame.lesson = lesson.Panel(found, number, paths, frame.page.path, parts, evaluate, trace_id)
    frame.lesson.draw()
    frame.at_stop = at_stop
    if at_stop and frame.trace is not None:
        lesson.choose_cell(frame.lesson.stop, frame.model, frame.trace)


def _follow_move(page: Page, links: Links) -> str | None:
    """Open the link that waits, the new view of a room, or the stop that the first link of a session asks for.

    A link to another page ends this run; the run of that page comes next. Returns why the link was opened that this run
    draws: "stop" or "room"; None if it is none of these.
    """
    kept, paths = session(), tuple(listed.path for listed in links)
    if kept.move is None or kept.move.why != "page":
        kept.move = room.news(page.path) or kept.move
    if kept.move is None or kept.move.why == "stop":
        kept.move = lesson.view_of_stop(kept.move, kept.state, paths)
    move, kept.move = kept.move, None
    target = next((listed for listed in links if move is not None and listed.path == move.link.page), None)
    if move is not None and target is not None:
        kept.opened = None if move.why == "page" else move.why
        if target is not page:
            st.switch_page(links[target], query_params=dict(move.link.params))
        st.query_params.from_dict(dict(move.link.params))
    opened, kept.opened = kept.opened, None
    return opened


def open_frame(page: Page, links: Links) -> PageFrame:
    """Draw everything before the content of a page. If no model can be opened, shows a message and stops the run."""
    content = page.content
    st.set_page_config(page_title=f"{page.title} · Headscope", page_icon="🔬", layout="wide")
    sentence.take_over_typed()
    state = current_state()
    paths = tuple(listed.path for listed in links)
    opened = _follow_move(page, links)
    if opened == "room":
        room.note_opened()
    big = state.view.big if state is not None else viewer.start_big()
    lesson_open = st.query_params.get(LESSON) if state is None or opened is not None else state.lesson
    narrow = big or bool(lesson_open)  # a lesson takes a part of the window
    st.html(run_style(page.name, big, narrow))
    rerun_after_reconnect()
    for function in _every_run:
        function()
    removed_models = tuple(session_models.take_removed())
    page_changed = session().page != page.name
    if not session_models.names():
        message(_("No checkpoint was found. Start with headscope --checkpoint FOLDER, or train one."), "error")
        st.stop()
    link_unread = not session().link_was_read
    # Going back or forward, opening a stop or a view of a room: the address says all that is to be shown.
    restores_address = state is not None and (went_through_history() or opened is not None)
    follows_link = False  # one of another page, which says only what is to change
    if state is None:
        unknown = _read_short_link()
        state = state_of_link(session_models.names(), big)
        state = store_state(replace(state, notices=(*unknown, *state.notices)))
    elif restores_address:
        page_changed = True
        revision = room.revision(state.revision) if opened == "room" else state.revision + 1
        state = store_state(replace(state_of_link(session_models.names(), big), revision=revision))
    elif page_changed:
        # The picture is mounted again and does not know what was chosen since its data was packed. A link of a page may
        # choose something on this one.
        follows_link = (params := st.query_params.to_dict()) != session().address
        asked = _options_of(page, params) if follows_link else {}
        chosen = {**state.chosen, page.name: asked} if asked else state.chosen
        state = store_state(replace(state, chosen=chosen, revision=state.revision + 1))
    if page_changed:
        state = _open_linked_model(state, follows_link)
    if removed_models:
        if not session_models.known(state.checkpoint):
            switch_checkpoint(session_models.names()[0])
            state = current_state() or state
        state = store_state(replace(state, notices=(*state.notices, *removed_models)))
    session().page = page.name
    header = _header(page, links, state, page_changed)
    room.bar(page.path, partial(lesson.answer_in_words, paths))
    model = _open_model(state)
    if link_unread or restores_address:
        state = _read_link(state, model, page)
        session().link_was_read = True
    else:
        state = store_state(replace(state, view=fitting(state.view, model)))
        if follows_link:
            state = _follow_link(state, model, page)
    state = _drop_missing_lesson(_drop_missing_switches(state, model), paths)
    for notice in state.notices:
        message(notice)
    explained = session().explained_models
    if state.checkpoint not in explained and page.name != "model":  # that page shows the notes always
        explained.add(state.checkpoint)
        for note in model.notes:
            message(str(note))
    if state.notices:
        store_state(replace(state, notices=()))
    frame = PageFrame(model, Options(page.name, page_changed), links, header, page_changed)
    labels = content.parts()
    part = str(frame.state.chosen.get(page.name, {}).get("part", next(iter(labels), "")))
    frame.pair = content.sentence and part not in content.alone
    in_browser = (
        frame.pair and content.live(frame.state, part)
        and live.engine_model() == model.name and not frame.state.lesson
    )  # fmt: skip
    if frame.pair:
        sentence.fields(model, frame.state, page_changed, link_unread, quiet=in_browser and room.seat() is None)
    if labels:
        of_model = {name: text for name, text in labels.items() if name == part or content.shown(model.config, name)}
        frame.part = frame.options.parts(of_model)
    live.draw(frame.state, quiet=in_browser and room.seat() is None)
    if frame.pair:
        frame.trace, readable = sentence.traced(model, frame.state, switch_checkpoint, in_browser)
        frame.live = in_browser and readable
    other_parts = tuple(label for name, label in labels.items() if name != frame.part)
    _open_lesson(frame, paths, other_parts, at_stop=opened == "stop")
    return frame
