"""What a person chose on a page beside the sentence: in the session, the link and the page's widgets, and bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.shared import figure
from pages.shared.begin import Begun, message
from pages.shared.state import OPTIONS, current, keep, write_address
from pages.shared.texts import _

Value = int | str
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")


class Options:
    """The options of one page in one run of it.

    Each method that draws a widget returns what is chosen in it. A value that came with a link is text until its bounds
    are known; one that does not fit becomes the nearest that does, and a sentence says so. Values are in the address
    only where they differ from the default.
    """

    def __init__(self, begun: Begun, page: str) -> None:
        self.begun, self.page = begun, page
        figure.prepare()

    # -- values without a widget --------------------------------------------------------------------------------

    def _chosen(self) -> dict[str, Value]:
        state = current() or self.begun.state
        return dict(state.chosen.get(self.page, {}))

    def _keep(self, name: str, value: Value, default: Value) -> None:
        state = current() or self.begun.state
        chosen = self._chosen()
        if value == default:
            chosen.pop(name, None)
        else:
            chosen[name] = value
        if chosen != state.chosen.get(self.page, {}):
            keep(replace(state, chosen={**state.chosen, self.page: chosen}))

    def report(self, name: str, value: Value, default: Value | None = None) -> None:
        """Store what the browser said; the default needs no place in the link."""
        self._keep(name, value, "" if default is None else default)

    def _asked(self, name: str, asked: Value, shown: Value, allowed: str) -> None:
        sentence = _("The link asks for {name} {asked!r}; {allowed} is allowed, and {shown} is shown.")
        message(sentence.format(name=name, asked=str(asked)[:40], allowed=allowed, shown=shown))

    def value(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number from low to high, without a widget."""
        asked = self._chosen().get(name, default)
        default = max(low, min(high, default))
        if isinstance(asked, str):
            number = int(asked) if _WHOLE.fullmatch(asked) else default
            if not re.fullmatch(r"[+-]?[0-9]+", asked, re.ASCII):
                number = default
            elif len(asked.lstrip("+-")) > 9:
                number = low if asked.startswith("-") else high
            found = max(low, min(high, number))
            if str(found) != asked:
                self._asked(name, asked, found, _("a whole number from {low} to {high}").format(low=low, high=high))
        else:
            found = max(low, min(high, asked))
        self._keep(name, found, default)
        return found

    def choice(self, name: str, values: Sequence[Value], default: Value) -> Value:
        """One of the values, without a widget."""
        asked = self._chosen().get(name, default)
        if asked not in values:
            same = [one for one in values if str(one) == asked]
            if same:
                asked = same[0]
            else:
                if isinstance(asked, str) and asked != default:
                    self._asked(name, asked, default, ", ".join(map(str, values[:12])))
                asked = default
        self._keep(name, asked, default)
        return asked

    # -- widgets ------------------------------------------------------------------------------------------------

    def _widget(self, name: str, value: Value, default: Value) -> dict[str, Any]:
        """Key and callback of a widget that shows this value now."""
        key = f"{self.page}_{name}"
        if self.begun.arrived or st.session_state.get(key) != value:
            st.session_state[key] = value

        def changed() -> None:
            chosen = st.session_state.get(key)
            if chosen is not None:
                self._keep(name, chosen, default)

        return {"key": key, "on_change": changed}

    def parts(self, labels: Mapping[str, str]) -> str:
        """The menu of the page's parts; the first is the default."""
        names = list(labels)
        return str(self.segment("part", _("Part of the page"), names, names[0], labels.__getitem__, hidden=True))

    def segment(
        self,
        name: str,
        label: str,
        values: Sequence[Value],
        default: Value,
        format_func: Callable[[Any], str] = str,
        hidden: bool = False,
    ) -> Value:
        """A choice of few, all in sight. hidden: without its label."""
        found = self.choice(name, values, default)
        st.segmented_control(
            label,
            values,
            format_func=format_func,
            required=True,
            label_visibility="collapsed" if hidden else "visible",
            **self._widget(name, found, default),
        )
        return found

    def choose(
        self,
        name: str,
        label: str,
        values: Sequence[Value],
        default: Value,
        format_func: Callable[[Any], str] = str,
    ) -> Value:
        """A choice of many, in a menu. Values that are whole numbers in one piece are bounded like `value`."""
        numbers = [one for one in values if isinstance(one, int)]
        if numbers and len(numbers) == len(values) and numbers == list(range(numbers[0], numbers[-1] + 1)):
            found: Value = self.value(name, numbers[0], numbers[-1], int(default))
            default = max(numbers[0], min(numbers[-1], int(default)))
        else:
            found = self.choice(name, values, default)
        st.selectbox(label, values, format_func=format_func, **self._widget(name, found, default))
        return found

    def number(self, name: str, label: str, low: int, high: int, default: int, **more: Any) -> int:
        """A whole number from low to high, typed or stepped."""
        found = self.value(name, low, high, default)
        default = max(low, min(high, default))
        st.number_input(label, low, high, step=1, **more, **self._widget(name, found, default))
        return found

    def text(self, name: str, label: str, longest: int = 200, **more: Any) -> str:
        """A short text, "" unless typed or linked."""
        found = str(self._chosen().get(name, ""))[:longest]
        self._keep(name, found, "")
        st.text_input(label, max_chars=longest, **more, **self._widget(name, found, ""))
        return found

    def finish(self) -> None:
        """Make the address bar say what is on the screen."""
        write_address(current() or self.begun.state, self.page)


assert all("part" in names for names in OPTIONS.values())
