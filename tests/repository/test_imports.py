"""The rules of import of docs/architecture.md: a forbidden import fails here, at whatever depth it stands."""

import ast
import graphlib
import re
import sys
from pathlib import Path

import pytest

import transformer

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted([*(ROOT / "transformer").rglob("*.py"), *(ROOT / "pages").rglob("*.py")])
OUTSIDE = {
    "streamlit": ("pages/",),
    "plotly": ("transformer/figures/",),
    "sacrebleu": ("transformer/text/sacrebleu.py",),
    "ctranslate2": ("transformer/inference/ctranslate.py",),
    "redis": ("transformer/rooms/redis_store.py",),
    **dict.fromkeys(("dask", "distributed", "pyarrow"), ("transformer/corpus/",)),
    **dict.fromkeys(("onnx_ir", "onnxruntime", "onnxscript"), ("transformer/web/",)),
}
# The two lists of the document: a package may import those before it, and the modules, which import only each other.
RULES = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Allowed imports")[2]
LAYERS, BASE = (re.findall(r"\w+", block) for block in re.findall(r"(?m)(?:^    .*\n)+", RULES))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> set[str]:
    """Full dotted names of everything a file imports, at whatever depth: `from a import b` gives a.b."""
    found: set[str] = set()
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def tops(path: Path) -> set[str]:
    """Packages a file imports that are neither Python's nor ours."""
    known = sys.stdlib_module_names | {"transformer", "pages"}
    return {name.split(".")[0] for name in imports(path)} - known


def parts(path: Path) -> set[str]:
    """Which parts of `transformer` a file imports: the second word of transformer.X.y."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("transformer.")}


def test_the_reader_of_imports_sees_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "transformer" / "view" / "some.py"
    file.parent.mkdir(parents=True)
    file.write_text("import a.b as c\nfrom d import e\ndef f():\n    from ..g import h\n    from . import i\n")
    assert imports(file) == {"a.b", "d.e", "transformer.g.h", "transformer.view.i"}
    assert tops(file) == {"a", "d"} and parts(file) == {"g", "view"}


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    allowed = {*LAYERS[: LAYERS.index(package) + 1], *BASE}
    above = {path.name: parts(path) - allowed for path in (ROOT / "transformer" / package).rglob("*.py")}
    assert not {name: found for name, found in above.items() if found}


def test_there_are_no_circular_imports() -> None:
    modules = {name_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__"): path for path in OURS}
    graph = {}
    for name, path in modules.items():
        found = imports(path)  # `from a import b`: b may be a module, or a name in a
        needed = {one if one in modules else one.rpartition(".")[0] for one in found}
        graph[name] = (needed & set(modules)) - {name}
    assert len(tuple(graphlib.TopologicalSorter(graph).static_order())) == len(modules)


def test_every_package_has_a_layer() -> None:
    packages = {path.parent.name for path in (ROOT / "transformer").glob("*/__init__.py")}
    assert packages == set(LAYERS)
    modules = {path.stem for path in (ROOT / "transformer").glob("*.py")}
    assert modules == {*BASE, "__init__", "__main__"}


@pytest.mark.parametrize("package, libraries", [("model", {"torch"}), ("interventions", {"torch"})])
def test_the_model_and_its_switches_use_torch_and_the_standard_library(package: str, libraries: set[str]) -> None:
    for path in (ROOT / "transformer" / package).rglob("*.py"):
        assert tops(path) <= libraries, path


@pytest.mark.parametrize("name", BASE)
def test_base_modules_use_the_standard_library(name: str) -> None:
    assert not tops(ROOT / "transformer" / f"{name}.py") and parts(ROOT / "transformer" / f"{name}.py") <= set(BASE)


def test_lower_layers_do_not_import_higher_ones() -> None:
    for path in OURS:
        if name_of(path).startswith("transformer/"):
            assert not {name for name in imports(path) if name.split(".")[0] in ("pages", "app", "tests")}, path


@pytest.mark.slow
@pytest.mark.parametrize("package", OUTSIDE)
def test_some_libraries_are_imported_in_one_place(package: str) -> None:
    users = {name_of(path) for path in OURS if package in tops(path)}
    assert {name for name in users if not name.startswith(OUTSIDE[package])} == set()


def test_analysis_knows_no_translator() -> None:
    for path in (ROOT / "transformer" / "analysis").rglob("*.py"):
        assert not parts(path) & {"checkpoints", "inference"}, path


def test_pages_import_lower_layers_and_never_each_other() -> None:
    """runtime < frame < components < every page; only app.py imports the registry, which names pages as text."""
    order = ("runtime", "frame", "components")
    for path in (ROOT / "pages").rglob("*.py"):
        folder = name_of(path).split("/")[1]
        below = order[: order.index(folder) + 1] if folder in order else order
        if folder in ("registry.py", "server.py"):
            below = ("frame", "runtime")
        allowed = {"registry", "operator", *below} if folder == "app.py" else {folder, *below}
        found = {name.split(".")[1] for name in imports(path) if name.startswith("pages.")}
        assert found <= allowed, (path, found - allowed)


def test_shared_values_are_cached_by_one_mechanism() -> None:
    for path in OURS:
        text = path.read_text(encoding="utf-8")
        assert "cache_resource" not in text and "cache_data" not in text, path


def test_nothing_unpickles() -> None:
    for path in OURS:
        assert not {name.split(".")[0] for name in imports(path)} & {"pickle", "cPickle", "dill", "shelve", "joblib"}
        loads = re.findall(r"torch\.load\([^\n]*", path.read_text(encoding="utf-8"))
        assert bool(loads) == (name_of(path) == "transformer/checkpoints/importers/tensors.py"), path
        assert all(one.endswith("weights_only=True)") for one in loads), path


def test_public_names() -> None:
    """`__all__` is sorted and complete: what `transformer/__init__.py` imports, and nothing that is not there.
    `startup`, `notebook_cell`, `probe_pairs` and `no_attribute` are imported for what they do."""
    ours = {name for name in imports(ROOT / "transformer" / "__init__.py") if name.startswith("transformer.")}
    imported = {name.split(".")[-1] for name in ours} - {"startup", "notebook_cell", "probe_pairs", "no_attribute"}
    assert set(transformer.__all__) == imported
    assert len(transformer.__all__) == len(set(transformer.__all__))
    assert all(hasattr(transformer, name) for name in transformer.__all__)
