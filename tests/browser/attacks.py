"""Known attack strings, and a checkpoint whose every text is one of them."""

import json
import os
from pathlib import Path

from tests.support.build import sentencepiece_model, sentences, tiny_model
from transformer.checkpoints.folder import save_checkpoint
from transformer.text.tokenizer import SPECIALS, Tokenizer

FOREIGN = "foreign.example"  # a name that no server has; asking for it fails the test
# Without blanks: each is one token of the checkpoint below, and so one label of every axis, chip, cell and table.
ATTACKS = (
    "<script>attacked(1)</script>",
    "<img/src=x/onerror=attacked(2)>",
    "<svg/onload=attacked(3)>",
    '"/onmouseover="attacked(4)"/x="',
    "'/onfocus='attacked(5)'/autofocus='",
    "javascript:attacked(6)",
    "[link](javascript:attacked(7))",
    f"![image](http://{FOREIGN}/8.png)",
    f"<a/href='http://{FOREIGN}/9'>nine</a>",
    "<b>bold</b>",
    "<br>line<br/>",
    "**strong**_em_`code`~~gone~~",
    "$x^2$",
    f"$\\href{{http://{FOREIGN}/14}}{{x}}$",
    ":red[red]",
    ":blue-background[blue]",
    ":material/home:",
    ":smile:",
    "&lt;i&gt;entity&lt;/i&gt;",
    "&#60;script&#62;attacked(20)&#60;/script&#62;",
    "${attacked(21)}",
    "{{attacked(22)}}",
    "<style>*{background:url(http://foreign.example/23)}</style>",
    "<div/style=width:expression(attacked(24))>",
    "<![CDATA[<script>attacked(25)</script>]]>",
    "--><script>attacked(26)</script>",
    "</script><script>attacked(27)</script>",
    "</textarea><img/src=x/onerror=attacked(28)>",
    "</title></style><svg/onload=attacked(29)>",
    "<noscript><p/title='</noscript><img/src=x/onerror=attacked(30)>'>",
    "<math><mtext><table><mglyph><style><!--</style><img/title='--&gt;&lt;img/src=1/onerror=attacked(31)&gt;'>",
    f"<iframe/srcdoc='<script>parent.attacked(32)</script>'/src='http://{FOREIGN}/32'></iframe>",
    "<template><script>attacked(33)</script></template>",
    "\u202ecba\u202c",
    "\u2066isolated\u2069\ufeff",
    "=HYPERLINK(attacked)",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "%{y}%{customdata[0]}",
    "#heading",
    "|a|b|",
    "]]>&quot;\\",
)
# With blanks and signs that a piece cannot have, for what is typed and what stands in a checkpoint's files.
TYPED = (
    "<img src=x onerror=attacked(50)> <svg onload = attacked(51)>",
    "\" onmouseover=attacked(52) x=\" ' onfocus=attacked(53) autofocus '",
    f"![i](http://{FOREIGN}/54.png) <http://{FOREIGN}/55> www.{FOREIGN} http://{FOREIGN}/56 -> <- --",
    "**b** :red[x] :material/home: :streamlit: $a^2$ $$b$$ `c` &lt;b&gt; &copy;",
    "one\u2028two\u2029three\u0085four\x0bfive",
)
RECORD = (
    "window.attackedBy = [];"
    "for (const name of ['attacked', 'alert', 'prompt', 'confirm'])"
    " window[name] = (...given) => window.attackedBy.push(name + given.join());"
)
# What no element of a page of ours has or is.
FOUND = """(all) => {
  const problems = (window.attackedBy || []).map((attack) => "ran: " + attack);
  for (const node of all) {
    for (const {name, value} of node.attributes) {
      if (/^on/i.test(name)) problems.push(node.tagName + " has " + name);
      const leads = /^(href|src|action|formaction|xlink:href)$/i.test(name);
      if (leads && /^\\s*(javascript|vbscript|data:text)/i.test(value))
        problems.push(node.tagName + " " + name + "=" + value);
      const link = node.tagName === "A" && node.closest("[data-testid=stMarkdown]"); // a card may have links
      if (!link && /expression\\(|FOREIGN/.test(value) && /^(style|href|src|srcset|background)$/i.test(name))
        problems.push(node.tagName + " " + name + "=" + value);
    }
    if (/^(script|style)$/i.test(node.tagName) && /attacked\\(|FOREIGN/.test(node.textContent) && !node.dataset.ours)
      problems.push(node.tagName + ": " + node.textContent.slice(0, 80));
    if (/^(object|embed|base|marquee|mglyph|iframe)$/i.test(node.tagName))
      problems.push(node.tagName);
  }
  return problems;
}""".replace("FOREIGN", FOREIGN)
# What is written or said in the elements of a page.
WRITTEN = """(all) => all.flatMap((node) => [
  ...["title", "aria-label", "value"].map((name) => node.getAttribute(name)), node.value,
  ...[...node.childNodes].map((inner) => (/^(style|script)$/i.test(node.nodeName) ? "" : inner.nodeValue)),
]).filter(Boolean).join("\\n")"""
NAME = "evil" if os.name == "nt" else "<img src=x onerror=attacked(60)> **b** :red[x] $x$ &lt; '\""


def _tokenizer() -> Tokenizer:
    return Tokenizer(
        sentencepiece_model(
            [*sentences(), *TYPED], 400, hard_vocab_limit=False, normalization_rule_name="identity", pad_id=0, unk_id=1,
            bos_id=2, eos_id=3, pad_piece=SPECIALS[0], user_defined_symbols=["\u2581" + attack for attack in ATTACKS],
        )
    )  # fmt: skip


def evil_checkpoint(parent: Path) -> Path:
    """A tiny random model in a folder of `parent` whose name, languages, vocabulary, card, examples and log attack."""
    tokenizer, folder = _tokenizer(), parent / NAME
    model = tiny_model(vocab_size=len(tokenizer), max_positions=512)
    save_checkpoint(folder, model, tokenizer, (f"{TYPED[3]}"[:40], ATTACKS[1]))
    card = "\n\n".join([f"# {ATTACKS[1]}", *TYPED, *ATTACKS, f"[r]: http://{FOREIGN}/61\n![x][r]", "```\n# code\n```"])
    mermaid = f'```mermaid\ngraph TD;A["{ATTACKS[1]}"];click A "javascript:attacked(62)"\n```'
    (folder / "README.md").write_text(f"{card}\n\n{mermaid}\n", encoding="utf-8")
    examples = [{"title": text, "look": text, "source": text, "target": text} for text in (*ATTACKS, *TYPED)]
    (folder / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    (folder / "training.csv").write_text(f"step,loss,{ATTACKS[0]}\n1,2,{ATTACKS[1]}\n2,1,x\n", encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps({"bleu": 1.0, ATTACKS[1]: ATTACKS[1]}), encoding="utf-8")
    return folder
