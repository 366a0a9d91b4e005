"""The options of a page: kept in the session, the link and the page's widgets, and within bounds."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from pages.frame.messages import message
from pages.frame.state import page_state, store_state
from transformer.texts import _

Value = int | float | str
Number = TypeVar("Number", int, float)
PANEL = "panel"  # the option of every page for its open panels
NUMBER = re.compile(r"\d{1,12}(\.\d{1,12})?([eE]-?\d{1,2})?", re.ASCII)  # a decimal number in a link


def show_value(key: str, value: object, is_new: bool = False) -> None:
    """Let a widget show a value. is_new: also where the session has this value already, because the browser's widget
    may be another one."""
    if is_new or st.session_state.get(key) != value:
        st.session_state[key] = value


class Options:
    """The options of one page in one run.

    Each method that draws a widget returns the chosen value. A value from a link is text until its bounds are known; an
    invalid one becomes the nearest valid value, and a message says so. A value that a person chose is kept even where
    another part or model allows less: there the nearest value is shown.
    """

    def __init__(self, page: str, page_changed: bool) -> None:
        """page: its name. page_changed: the session was on another page before this run, so its widgets are new."""
        self.page, self.page_changed = page, page_changed
        self.shown: dict[str, Value] = {}
        self.first_part = ("part", "")
        self.place: Any = st  # where widgets are drawn
        self.message_place: DeltaGenerator | None = None  # where messages go, if not where the widget is

    def at(self, place: DeltaGenerator) -> Options:
        """The same options, whose widgets are drawn in this place."""
        options = copy.copy(self)
        options.place, options.message_place = place, self.message_place or place
        return options

    def _message(self, sentence: str) -> None:
        with self.message_place or contextlib.nullcontext():
            message(sentence)

    # -- values without a widget --------------------------------------------------------------------------------

    def _chosen(self) -> dict[str, Value]:
        return dict(page_state().chosen.get(self.page, {}))

    def report(self, name: str, value: Value, default: Value | None = None) -> None:
        """Store a value that a person chose, or that the browser reports. A single default is not written to the
        link."""
        state = page_state()
        chosen = {**self._chosen(), name: value}
        self.shown[name] = value
        if value == default:
            del chosen[name]
        if chosen != state.chosen.get(self.page, {}):
            store_state(replace(state, chosen={**state.chosen, self.page: chosen}))

    def forget(self) -> None:
        """Forget everything chosen on the page; open panels stay open."""
        state = page_state()
        panels = {name: value for name, value in self._chosen().items() if name == PANEL}
        store_state(replace(state, chosen={**state.chosen, self.page: panels}))

    def _show(self, name: str, value: Value) -> Value:
        """Note the value that the page shows. It replaces a value from a link, but not one that a person chose: another
        part, sentence or model may allow that again."""
        if name in self._chosen() and isinstance(self._chosen()[name], str) and self._chosen()[name] != value:
            self.report(name, value)
        self.shown[name] = value
        return value

    def _number(self, name: str, default: int, fit: Callable[[int], int], allowed: str) -> int:
        """A whole number that fits; if a link asked for another one, a message says what is allowed."""
        asked = self._chosen().get(name, default)
        fitted = fit(_whole(asked, default))
        if isinstance(asked, str) and str(fitted) != asked:
            sentence = _("The link asks for {name} {asked!r}. Allowed: {allowed}. Shown: {shown}.")
            self._message(sentence.format(name=name, asked=asked[:40], allowed=allowed, shown=fitted))
        self._show(name, fitted)
        return fitted

    def value(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number from low to high, without a widget."""
        allowed = _("a whole number from {low} to {high}", low=low, high=high)
        return self._number(name, default, lambda value: max(low, min(high, value)), allowed)

    def nearest(self, name: str, values: Sequence[int], default: int) -> int:
        """One of several whole numbers, without a widget; a link's number becomes the nearest of them."""
        steps = _("a whole number from {low} to {high} in steps of {step}")
        allowed = steps.format(low=values[0], high=values[-1], step=values[1] - values[0])
        return self._number(
            name, default, lambda value: min(values, key=lambda allowed_value: abs(allowed_value - value)), allowed
        )

    def choice(self, name: str, values: Sequence[Value], default: Value) -> Value:
        """One of the values, without a widget."""
        asked = self._chosen().get(name, default)
        match = next((value for value in values if value == asked or str(value) == asked), None)
        if match is None:
            match = default
            if isinstance(asked, str):
                sentence = _("The link asks for {name} {asked!r}. Allowed: {values}. Shown: {shown}.")
                there = ", ".join(map(str, values[:12]))
                self._message(sentence.format(name=name, asked=asked[:40], values=there, shown=default))
        return self._show(name, match)

    def decimal(self, name: str, low: float, high: float, default: float) -> float:
        """A number from low to high, without a widget."""
        asked = self._chosen().get(name, default)
        text = str(asked)
        value = max(low, min(high, float(text))) if NUMBER.fullmatch(text) else default
        if isinstance(asked, str) and not (NUMBER.fullmatch(text) and float(text) == value):
            sentence = _("The link asks for {name} {asked!r}. Allowed: a number from {low} to {high}. Shown: {shown}.")
            self._message(
                sentence.format(name=name, asked=text[:40], low=f"{low:g}", high=f"{high:g}", shown=f"{value:g}")
            )
        if isinstance(asked, str):
            self.report(name, value)
        self.shown[name] = value
        return value

    def typed(self, name: str, default: str, longest: int = 200) -> str:
        """A short text, without a widget; its reader checks it."""
        text = str(self._chosen().get(name, default))[:longest]
        self.shown[name] = text
        return text

    # -- widgets ------------------------------------------------------------------------------------------------

    def _widget(self, name: str, value: Value, labels: tuple[str, ...] = ()) -> dict[str, Any]:
        """Key and callback of a widget that shows this value now. labels: the labels of its values; when they change,
        the widget is set again, because a browser keeps the label."""
        key = f"{self.page}_{name}"
        show_value(key, value, self.page_changed or st.session_state.get(f"{key}_labels") != labels)
        st.session_state[f"{key}_labels"] = labels

        def changed() -> None:
            chosen = st.session_state.get(key)
            if chosen is not None:
                self.report(name, chosen)

        return {"key": key, "on_change": changed}

    def parts(self, labels: Mapping[str, str]) -> str:
        """The menu of the page's parts; the first is the default."""
        self.first_part = ("part", next(iter(labels)))
        return self.labelled("part", _("Part of the page"), labels, hidden=True)

    def segment(
        self,
        name: str,
        label: str,
        values: Sequence[Value],
        default: Value,
        format_func: Callable[[Any], str] = str,
        hidden: bool = False,
        alone: bool = False,
    ) -> Value:
        """A choice of a few visible values. hidden: without its label; alone: choosing one forgets everything else
        chosen on the page."""
        value = self.choice(name, values, default)
        widget = self._widget(name, value)
        if alone:
            report = widget["on_change"]

            def changed() -> None:
                self.forget()
                report()

            widget["on_change"] = changed
        self.place.segmented_control(
            label,
            values,
            format_func=format_func,
            required=True,
            label_visibility="collapsed" if hidden else "visible",
            **widget,
        )
        return value

    def index(self, name: str, label: str, labels: Sequence[str], default: int = 0, **more: Any) -> int:
        """One of several labels, in a menu. Returns its index, from 0; the link counts from 1."""
        numbers = range(1, len(labels) + 1)
        return int(self.choose(name, label, numbers, default + 1, lambda number: labels[number - 1], **more)) - 1

    def labelled(
        self, name: str, label: str, labels: Mapping[str, str], default: str = "", hidden: bool = False
    ) -> str:
        """A choice of a few visible values by their labels; the first is the default, unless another one is named."""
        values = list(labels)
        return str(self.segment(name, label, values, default or values[0], labels.__getitem__, hidden))

    def toggle(self, name: str, label: str, default: bool, **more: Any) -> bool:
        """On or off, written so in links too."""
        value = self.choice(name, ("on", "off"), "on" if default else "off") == "on"
        key = self._widget(name, value)["key"]

        def changed() -> None:
            self.report(name, "on" if st.session_state.get(key) else "off")

        self.place.toggle(label, key=key, on_change=changed, **more)
        return value

    def panel(self, name: str, label: str) -> ExpanderContainer:
        """A panel that folds; the link holds the names of the open ones, joined by dots."""
        is_open = self.is_open(name)
        key = f"{self.page}_{PANEL}_{name}"
        show_value(key, is_open, self.page_changed)
        return self.place.expander(label, key=key, on_change=lambda: self.fold(name, bool(st.session_state.get(key))))

    def is_open(self, name: str) -> bool:
        """Whether a panel is shown open, also one that a picture draws itself."""
        is_open = name in self._open_panels()
        if is_open:
            self.shown[PANEL] = ".".join(filter(None, (str(self.shown.get(PANEL, "")), name)))
        return is_open

    def fold(self, name: str, is_open: bool) -> None:
        """Store that a person opened or closed a panel."""
        others = [panel for panel in self._open_panels() if panel != name]
        self.report(PANEL, ".".join([*others, name] if is_open else others), "")

    def _open_panels(self) -> list[str]:
        return [name for name in str(self._chosen().get(PANEL, "")).split(".") if name]

    def choose(
        self,
        name: str,
        label: str,
        values: Sequence[Value],
        default: Value,
        format_func: Callable[[Any], str] = str,
        **more: Any,
    ) -> Value:
        """A choice of many values, in a menu. A range of whole numbers is bounded as in `value`."""
        numbers = [value for value in values if isinstance(value, int)]
        if numbers and len(numbers) == len(values) and numbers == list(range(numbers[0], numbers[-1] + 1)):
            value: Value = self.value(name, numbers[0], numbers[-1], int(default))
        else:
            value = self.choice(name, values, default)
        labels = tuple(map(format_func, values))
        self.place.selectbox(label, values, format_func=format_func, **more, **self._widget(name, value, labels))
        return value

    def number(
        self,
        name: str,
        label: str,
        low: int,
        high: int,
        default: int,
        refuse: bool = True,
        slider: bool = False,
        step: int = 1,
        **more: Any,
    ) -> int:
        """A whole number from low to high, typed or stepped, or moved on a slider. refuse: the field refuses to send
        others; without it a typed number is returned as it is, and the page says what is allowed."""
        fitted = self.value(name, low, high, default)
        bounds = (low, high) if refuse else None
        return self._number_field(name, label, fitted, bounds, slider, step=step, **more)

    def fraction(
        self,
        name: str,
        label: str,
        low: float,
        high: float,
        default: float,
        step: float,
        shown: str,
        refuse: bool = True,
        slider: bool = False,
        **more: Any,
    ) -> float:
        """A number from low to high, typed, stepped or moved. shown: how it is written, "%.2f"; refuse, slider: as in
        `number`."""
        fitted = self.decimal(name, low, high, default)
        bounds = (low, high) if refuse else None
        return self._number_field(name, label, fitted, bounds, slider, step=step, format=shown, **more)

    def _number_field(
        self, name: str, label: str, fitted: Number, bounds: tuple[Number, Number] | None, slider: bool, **more: Any
    ) -> Number:
        """A field or a slider. fitted: the number that the link holds; bounds: None if any other one may be typed."""
        typed = self._chosen().get(name)
        value = typed if bounds is None and isinstance(typed, type(fitted)) else fitted
        limits = {"min_value": bounds[0], "max_value": bounds[1]} if bounds else {}
        field: Callable[..., Any] = self.place.slider if slider else self.place.number_input
        field(label, **limits, **more, **self._widget(name, value))
        return value

    def text(self, name: str, label: str, longest: int = 200, **more: Any) -> str:
        """A short text; "" unless typed or linked."""
        text = str(self._chosen().get(name, ""))[:longest]
        self.shown[name] = text
        self.place.text_input(label, max_chars=longest, **more, **self._widget(name, text))
        return text

    def prefilled(self, name: str, label: str, start: str, longest: int) -> str:
        """A short text that begins with `start`; the link holds what was typed where it differs."""
        text, key = self.typed(name, start, longest), f"{self.page}_{name}"
        show_value(key, text, self.page_changed)

        def changed() -> None:
            self.report(name, st.session_state[key] or " ", start)

        self.place.text_input(label, key=key, max_chars=longest, on_change=changed)
        return text

    def for_address(self) -> dict[str, Value]:
        """The chosen options as the page shows them; the first part is left out, because it is the default."""
        chosen = {name: self.shown.get(name, value) for name, value in self._chosen().items()}
        return {name: value for name, value in chosen.items() if value != "" and (name, value) != self.first_part}


def _whole(asked: Value, default: int) -> int:
    """A whole number written in ASCII, or the default. Very long numbers are cut."""
    if not isinstance(asked, str):
        return int(asked)
    match = re.fullmatch(r"([+-]?)[0-9]+", asked, re.ASCII)
    if not match:
        return default
    return int(asked) if len(asked) < 12 else (-(10**9) if match[1] == "-" else 10**9)
