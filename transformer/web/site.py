"""A site of static files: the app's pages that a browser can compute itself, for any web host, also below a path.

    index.html, PAGE/index.html      the same for every page: frontend/src/site/ draws it
    site*.js, *.css                  built scripts and style sheets (transformer/view/dist/)
    engine.js, ort.wasm.gz           what computes the models
    plotly.js.gz                     what draws the positions
    licences.txt                     of the packages in the scripts
    site.json                        {"languages": code -> its own name, "models": [...], "lessons": bool}; the first
                                     ones open
    texts/LANGUAGE.json              {"texts": English -> translated, "meanings": of words, for readers of it}
    models/NAME/                     see `transformer.web.folder` and `transformer.web.anatomy`
    models/NAME/learning.json        how its heads formed, if there is a recording: {"sentences", "tokens"} of it
    models/NAME/learning/            NUMBER.pack.gz: the states of a sentence (`transformer.view.formation_pack`)
    first.pack.gz                    the first example of the first model: a picture before the model is loaded
    first-head.pack.gz               its head
    positions/LANGUAGE.json          see `transformer.view.position_figures`
    lessons/LANGUAGE.json            see `transformer.web.lessons`
    trainings/, experiment/          see `transformer.web.training` and `transformer.view.experiment`
    headscope-site.txt               the names of all these files, for the next `write_site`

All addresses are relative. A link into the app opens the same on the site, if the part before the page's name is
exchanged.
"""

import contextlib
import hashlib
import html
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from transformer.analysis.heads import alignment_from_json
from transformer.checkpoints.folder import HEADS, LARGEST_BESIDE, RECORDING, TOKENS
from transformer.files import write_gzip
from transformer.inference.pretrained import Pretrained
from transformer.probing.formed import read_formation
from transformer.text.meanings import CODES, load_meanings
from transformer.texts import ENGLISH, UserError, _, any_of, in_language, reader_language, translate
from transformer.training.recording import LARGEST, Recording
from transformer.view.bundle import FOLDER as DIST
from transformer.view.examples import read_examples
from transformer.view.experiment import experiment_files
from transformer.view.formation_pack import formation_pack
from transformer.view.languages import languages, load_language, script_texts
from transformer.view.pack import feed_pack, full_pack
from transformer.view.position_figures import PARTS, templates
from transformer.view.site_pages import SITE_PAGES
from transformer.view.state import View
from transformer.web.anatomy import write_anatomy
from transformer.web.folder import export_folder
from transformer.web.lessons import write_lessons
from transformer.web.training import write_trainings

ENTRY = "site"  # of the frontend
PROGRAMS = ("engine.js", "ort.wasm.gz", "plotly.js.gz")
LICENCES = "licences.txt"  # of the packages in the scripts
LISTED = "headscope-site.txt"
_IMPORT = re.compile(r'(?:from|import)"\./([\w-]+\.js)"')  # of another file, by a built script

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {policy}; base-uri 'none'; form-action 'none'">
<meta name="description" content="{description}">
<title>Headscope</title>
<link rel="icon" href="data:image/svg+xml,{icon}">
{head}
</head>
<body>
<p class="hs-wait">{wait}</p>
</body>
</html>
"""
_POLICY = (
    "script-src 'self' 'wasm-unsafe-eval' blob:; worker-src 'self'; connect-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:"
)
_ICON = (
    "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ctext y='13' font-size='13'%3E🔬%3C/text%3E"
    "%3C/svg%3E"
)


class SiteError(UserError):
    """A site that cannot be written. The message says why and what to do."""


def write_site(folder: Path, models: Sequence[Pretrained], codes: Sequence[str] = ()) -> list[str]:
    """Write the site into a folder; of an earlier site there, what is no longer needed is removed. Returns the names of
    all files.

    models: the first one opens. codes: of languages; the first one is that of readers who want none of them; without
    any, all that the app has.

    Raises SiteError if the folder holds something else, ExportError if a model cannot be exported, OSError; then the
    folder is as it was.
    """
    before = _listed(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as made:
        write_files(Path(made), models, codes)
        written = sorted(path.relative_to(made).as_posix() for path in Path(made).rglob("*") if path.is_file())
        (Path(made) / LISTED).write_text("\n".join(written), encoding="utf-8")
        for name in [LISTED, *written]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(made) / name, folder / name)
    for name in before.difference(written):
        (folder / name).unlink(missing_ok=True)
        for above in list(PurePosixPath(name).parents)[:-1]:
            with contextlib.suppress(OSError):  # other files are in it
                (folder / above).rmdir()
    return written


def _listed(folder: Path) -> set[str]:
    """The files of an earlier site. Raises SiteError if the folder holds files and no such list."""
    try:
        names = (folder / LISTED).read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise SiteError(
                "{folder} is not empty and holds no site of Headscope; choose another folder", folder=folder
            ) from None
        return set()
    return {name for name in names if name and not PurePosixPath(name).is_absolute() and ".." not in name.split("/")}


def write_files(folder: Path, models: Sequence[Pretrained], codes: Sequence[str]) -> None:
    """Write all files into an empty folder, see `write_site`."""
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise SiteError("two models have the name {name}; rename a folder", name=max(names, key=names.count))
    if unknown := [code for code in codes if code not in languages()]:
        raise SiteError(
            "there is no language {code!r}; choose {codes}", code=unknown[0], codes=any_of(languages(), unknown[0])
        )
    codes = codes or list(languages())
    styles = {f"{name}.css" for page in SITE_PAGES.values() for name in page["styles"]}
    for path in DIST.iterdir():
        if (
            path.name in {*PROGRAMS, LICENCES, f"{ENTRY}.css", *styles}
            or path.match(f"{ENTRY}.js")
            or path.match(f"{ENTRY}-*.js")
        ):
            shutil.copyfile(path, folder / path.name)
    about = [_write_model(folder / "models" / model.name, model) for model in models]
    lessons = write_lessons(folder / "lessons", map(load_language, codes), [model.name for model in models])
    spoken = {code: languages()[code] for code in codes}
    _write_json(folder / "site.json", {"languages": spoken, "models": about, "lessons": bool(lessons)})
    for code in codes:
        _write_json(folder / "texts" / f"{code}.json", _texts(code, about))
        with in_language(load_language(code)):
            _write_json(
                folder / "positions" / f"{code}.json", templates(name for part in PARTS.values() for name in part)
            )
    write_trainings(folder / "trainings", [load_language(code) for code in codes])
    for name, text in experiment_files().items():
        _place(folder / name).write_text(text, encoding="utf-8")
    _write_first(folder, models[0])
    for number, name in enumerate(name for name in SITE_PAGES if name != "lessons" or lessons):
        page = _page("../") if number else _page("")
        _place((folder / name if number else folder) / "index.html").write_text(page, encoding="utf-8")


def _place(path: Path) -> Path:
    """The same path, after its folder was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write_json(path: Path, value: Any) -> None:
    _place(path).write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


# -- models -----------------------------------------------------------------------------------------------------------


def _write_model(folder: Path, model: Pretrained) -> dict[str, Any]:
    """Write the files of a model. Returns what site.json says of it."""
    about = export_folder(model, folder, packed=True)
    if model.config.usual_parts:
        write_anatomy(model, folder)
    heads, config = model.beside(HEADS, LARGEST_BESIDE[HEADS]), model.config
    texts = ("title", "group", "look", "source", "target")
    return {
        "about": about,
        "examples": [
            {**{name: getattr(example, name) for name in texts}, "view": example.view.to_params()}
            for example in read_examples(model)
        ],
        "alignment": alignment_from_json(heads, config.decoder_layers, config.heads) if heads else None,
        "recorded": _write_learning(folder, model),
        "anatomy": model.config.usual_parts,
    }


def _write_learning(folder: Path, model: Pretrained) -> bool:
    """Write how the heads formed; returns whether there is a recording that fits the model."""
    data = model.beside(RECORDING, LARGEST)
    if data is None:
        return False
    try:
        formed = read_formation(Recording.from_bytes(data, RECORDING), model, TOKENS)
    except ValueError:
        return False
    what = (formed.recording, formed.tokens, formed.statistics, formed.formings)
    sentences = formed.recording.sentences
    _write_json(folder / "learning.json", {"sentences": sentences, "tokens": formed.tokens})
    with in_language(ENGLISH):  # the page adds its own texts
        for number, (source, target) in enumerate(sentences):
            if formed.tokens[number] is not None:
                trace = model.trace(source, target, limit=TOKENS)
                pack = formation_pack(*what, trace, number, View(), 0)
                write_gzip(_place(folder / "learning" / f"{number}.pack.gz"), pack)
    return True


def _write_first(folder: Path, model: Pretrained) -> None:
    """The packs of the first example, if there is one."""
    for example in read_examples(model)[:1]:
        with in_language(ENGLISH):  # the page adds its own texts
            trace = model.trace(example.source, example.target or None, limit=TOKENS)
            write_gzip(folder / "first.pack.gz", full_pack(trace, example.view))
            write_gzip(folder / "first-head.pack.gz", feed_pack(trace, example.view))


# -- texts ------------------------------------------------------------------------------------------------------------


def _texts(code: str, models: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The translations of everything that the site shows in a language, and what words mean to its readers."""
    spoken = {language for model in models for language in model["about"]["languages"]}
    shown = {example[part] for model in models for example in model["examples"] for part in ("title", "group", "look")}
    shown |= {model["about"]["reads"]["what"] for model in models if "reads" in model["about"]}
    with in_language(load_language(code)):
        translated = {text: translate(text) for text in sorted({*script_texts(ENTRY), *spoken, *shown} - {""})}
    meanings = {language: _meanings(language, code) for language in sorted(spoken)}
    return {
        "texts": {text: other for text, other in translated.items() if other != text},
        "meanings": {language: rows for language, rows in meanings.items() if rows},
    }


def _meanings(language: str, reader: str) -> dict[str, dict[str, str]]:
    """Word -> sentence, or "" for any other -> what it means to readers of a language; empty if they know the words."""
    known, code = load_meanings(), CODES.get(language, "")
    column = known.reader(code, reader)
    found: dict[str, dict[str, str]] = {}
    for (of, word, sentence), told in known.rows.items():
        if column is not None and of == code:
            found.setdefault(word, {})[sentence] = told[column]
    return found


# -- pages ------------------------------------------------------------------------------------------------------------


def _page(root: str) -> str:
    """The HTML of a page. root: from its folder to that of the site."""
    style, script = (hashlib.sha256((DIST / f"{ENTRY}.{kind}").read_bytes()).hexdigest()[:12] for kind in ("css", "js"))
    head = [
        f'<link rel="stylesheet" href="{root}{ENTRY}.css?v={style}">',
        *(f'<link rel="modulepreload" href="{root}{name}">' for name in _imports(f"{ENTRY}.js")),
        f'<script type="module" src="{root}{ENTRY}.js?v={script}"></script>',
    ]
    wait = _(
        "This page needs JavaScript and a web server that sends .js files as text/javascript: in its folder, start "
        "python -m http.server, and open http://localhost:8000."
    )
    return html_page("\n".join(head), _POLICY, wait)


def html_page(head: str, policy: str, wait: str) -> str:
    """A page that its scripts fill. head: what loads them; policy: what else they may load; wait: what is said until
    they have."""
    return _PAGE.format(
        language=reader_language().code,
        description=html.escape(_("Type a sentence and see every attention head of a trained Transformer.")),
        policy=policy,
        icon=_ICON,
        head=head,
        wait=html.escape(wait),
    )


def _imports(name: str) -> list[str]:
    """The built scripts that a script cannot start without."""
    found = dict.fromkeys(_IMPORT.findall((DIST / name).read_text(encoding="utf-8")))
    return list(dict.fromkeys([*found, *(inner for one in found for inner in _imports(one))]))
