"""Texts from elsewhere never become markup."""

import pytest

from pages.model.card import tamed
from pages.runtime.texts import plain_markdown


@pytest.mark.parametrize(
    "text, written",
    [
        ("English (Old), zh-CN, v1.2!", "English (Old), zh-CN, v1.2!"),  # a screen reader is given it as it is
        ("**b** _i_ `c` ~~s~~", r"\*\*b\*\* \_i\_ \`c\` \~\~s\~\~"),
        ("<b>&lt;", r"\<b\>\&lt;"),
        ("[l](javascript:x) ![i](u)", r"\[l\](javascript\:x) !\[i\](u)"),
        (":red[x] :material/home: $x^2$", r"\:red\[x\] \:material\/home\: \$x\^2\$"),
        ("www.x.org a@b.org", r"www\.x.org a\@b.org"),
        ("# one", r"\# one"),
        ("1. one\n2) two", r"1\. one 2) two"),
        ("a->b :streamlit:", "a-\u2060\\>b \\:\u2060streamlit\\:"),
        ("\\", r"\\"),
        ("", ""),
    ],
)
def test_labels_read_as_markdown_are_escaped_as_little_as_can_be(text: str, written: str) -> None:
    assert plain_markdown(text) == written


def test_a_card_has_no_pictures_and_its_headings_stand_below_the_pages_own() -> None:
    code = "```sh\n# comment\n```\n`# code`\n"
    card = f"# A\n## B #\n#no\n{code}![x](http://a.example/b.png) \\`![y][1]\\`\n####### seven\n"
    shown = f"## A\n### B #\n#no\n{code}!\\[x](http://a.example/b.png) \\`!\\[y][1]\\`\n####### seven\n"
    assert tamed(card) == shown
    assert tamed("") == "" and tamed("~~~\n# open") == "~~~\n# open"


def test_a_card_sets_the_papers_names_as_the_paper_does() -> None:
    assert tamed("d_model 64, `d_ff`, √d_k") == r"$d_\text{model}$ 64, `d_ff`, √$d_\text{k}$"
    assert tamed("$d_k$ and d_ff") == "$d_k$ and d_ff"
