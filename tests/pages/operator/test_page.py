"""The operator's page: nothing without the option, one sentence without the key, numbers with it."""

import re
from dataclasses import replace

import pytest

from pages.operator.page import KEY, NAME
from pages.runtime import operator
from tests.pages.runtime.test_operator import NOW
from tests.pages.test_language import locale, texts
from tests.support.app import address, app_test, messages, open_page, page_text, written
from tests.support.pseudo import CODE, untranslated
from transformer.operator_key import VARIABLE

__all__ = ["locale"]  # a fixture
SECRET = "a-key-that-is-long"


@pytest.fixture
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def test_without_the_option_there_is_no_such_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    asked, unknown = (open_page(name, **{KEY: SECRET}) for name in (NAME, "no-such-page"))
    assert page_text(asked) == page_text(unknown) and address(asked) == address(unknown)
    assert "hs-operator" not in written(asked) and "Memory by cache" not in page_text(asked)


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("params", [{}, {KEY: ""}, {KEY: "x"}, {KEY: SECRET[:-1]}, {KEY: f"{SECRET}ü"}])
def test_without_the_key_the_page_has_one_sentence_and_no_number(params: dict[str, str]) -> None:
    app = app_test(NAME, **params).run()
    assert messages(app).count("hs-message") == 1 and "open it with the key" in messages(app)
    assert not re.search(r"\d|Memory|Trainings", page_text(app).replace("hs-", ""))
    assert not app.caption


@pytest.mark.usefixtures("switched_on")
def test_with_the_key_the_page_has_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.operator.page.stats", lambda: NOW)
    app = app_test(NAME, **{KEY: SECRET}).run()
    assert not app.exception and not messages(app)
    numbers = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", written(app))
    assert numbers == [
        ("Open pages", "5"), ("New sentences", "60"), ("New sentences a second", "0.25"),
        ("Running", "1 of 4"), ("Waiting", "2"), ("A second", "0.50"),
        ("Running", "3 of 8"), ("Waiting", "6"),
        ("Now", "unknown"), ("Budget", "1,200 MB"), ("In caches", "31 MB"), ("Caches at most", "900 MB"),
    ]  # fmt: skip
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', written(app))
    assert rows == [("traces", "2", "20.0"), ("a&quot;b", "1", "10.7")]
    assert "it started 0 h 1 min ago" in app.caption[0].value
    assert address(app) == {KEY: SECRET}  # reloading keeps it
    assert not app.get("page_link") and SECRET not in written(app)


@pytest.mark.usefixtures("switched_on")
def test_the_numbers_are_those_of_this_process() -> None:
    app = app_test(NAME, **{KEY: SECRET}).run()
    now = operator.stats()
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", written(app)))
    assert shown["Budget"] == f"{now.budget / 1e6:,.0f} MB" and shown["New sentences"] == f"{now.sentences:,}"
    for name, (number, _) in now.caches.items():
        assert f'<th scope="row">{name}</th><td>{number:,}</td>' in written(app)


@pytest.mark.usefixtures("switched_on")
def test_no_other_page_shows_the_page_or_keeps_the_key() -> None:
    app = open_page("heads", **{KEY: SECRET})
    assert KEY not in address(app) and SECRET not in written(app)
    links = app.get("page_link")
    assert links and not any(NAME in str(link.proto).lower() for link in links)


@pytest.mark.usefixtures("switched_on", "locale")
@pytest.mark.parametrize("key", ["x", SECRET])
def test_no_text_of_the_page_stays_english(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.operator.page.stats", lambda: replace(NOW, caches={"tiny": (1, 2)}))
    app = app_test(NAME, **{KEY: key}, lang=CODE).run()
    assert not app.exception and not {text for text in texts(app) if untranslated(text)}
