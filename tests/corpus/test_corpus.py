"""Corpora: what is read, that any number of processes gives the same, and that a run goes on where it stopped."""

import contextlib
import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import torch
from pyarrow import parquet

import transformer
from tests.support.processes import PATIENCE, children, there
from transformer.__main__ import main
from transformer.analysis.alignment import pharaoh
from transformer.cli import corpus as corpus_command
from transformer.corpus import reading, running, shards
from transformer.corpus.reading import LONGEST, grouped, open_corpus
from transformer.corpus.search import search_corpus
from transformer.corpus.shards import MANIFEST
from transformer.corpus.tasks import CorpusError
from transformer.corpus.traces import read_traces, trace_corpus
from transformer.probing import search
from transformer.probing.alignment import Source, align
from transformer.training.data import DataError, group_references

ROOT = Path(__file__).resolve().parents[2]
BROKEN = 11  # index of the line without a tab


def pairs_of(count: int) -> list[tuple[str, str]]:
    rng = random.Random(3)
    texts = ["".join(rng.choices("abcdef", k=rng.randint(1, 9))) for _ in range(count)]
    return [(text, text[::-1]) for text in texts]


def write(path: Path, pairs: list[tuple[str, str]], broken: int | None = BROKEN) -> Path:
    lines = ["no tab" if number == broken else "\t".join(pair) for number, pair in enumerate(pairs)]
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of five lines, shards of two chunks."""
    monkeypatch.setattr(reading, "CHUNK", 5)
    monkeypatch.setattr(shards, "CHUNK", 5)
    monkeypatch.setattr(shards, "SHARD", 2)


@pytest.fixture
def corpus(tmp_path: Path, small: None) -> Path:
    return write(tmp_path / "pairs.tsv", pairs_of(33))


ALIGN = ["align", "--checkpoint", "reverse", "--layer", "2", "--head", "1", "--data"]
EVALUATE = ["evaluate", "--checkpoint", "reverse", "--data"]


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_form_of_a_corpus_gives_the_same_rows(tmp_path: Path, small: None) -> None:
    pairs = pairs_of(13)
    write(tmp_path / "a.tsv", pairs, None)
    write(tmp_path / "a.tsv.gz", pairs, None)
    columns = dict(zip(("source", "target"), map(list, zip(*pairs, strict=True)), strict=True))
    parquet.write_table(pyarrow.table({"id": list(range(13)), **columns}), tmp_path / "a.parquet", row_group_size=4)
    for side, texts in columns.items():
        (tmp_path / f"{side}.txt").write_text("".join(f"{text}\r\n" for text in texts))
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "part-1.tsv", pairs[:6], None)
    write(folder / "part-2.tsv.gz", pairs[6:], None)
    for name in ("README.md", "_errors-00000.txt", ".part-3.tsv"):
        (folder / name).write_text("not a corpus")
    for paths in (["a.tsv"], ["a.tsv.gz"], ["a.parquet"], ["source.txt", "target.txt"], ["folder"]):
        found = open_corpus([tmp_path / path for path in paths])
        chunks = list(found.chunks())
        assert [row for chunk in chunks for row in chunk.rows] == pairs, paths
        assert [chunk.number for chunk in chunks] == list(range(len(chunks))) and chunks[-1].read == found.size
        sizes = [5, 1, 5, 2] if paths == ["folder"] else [5, 5, 3]
        assert [len(chunk.rows) for chunk in chunks] == sizes
    assert [(chunk.file, chunk.first) for chunk in chunks] == [
        ("part-1.tsv", 1), ("part-1.tsv", 6), ("part-2.tsv.gz", 1), ("part-2.tsv.gz", 6),
    ]  # fmt: skip


def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfa\tb\tfrom somewhere\nno tab\n\xff\tb\n" + b"x" * 3 * LONGEST + b"\na\tb\r\n\tb"
    (tmp_path / "a.tsv").write_bytes(data)
    (chunk,) = open_corpus([tmp_path / "a.tsv"]).chunks()
    first, no_tab, bytes_, long, *last = chunk.rows
    assert (first, *last) == (("a", "b"), ("a", "b"), ("", "b"))
    assert "no tab" in no_tab and "byte 0xff is not UTF-8" in bytes_ and "longer than 65,536 bytes" in long
    assert chunk.named(1, no_tab) == "a.tsv, line 2: there is no tab; write SOURCE<tab>TARGET"
    parquet.write_table(pyarrow.table({"s": ["a", None], "t": ["b", "c"]}), tmp_path / "a.parquet")
    (chunk,) = open_corpus([tmp_path / "a.parquet"]).chunks()
    assert chunk.rows[0] == ("a", "b") and "no text in both columns" in chunk.rows[1]


def test_a_row_group_is_not_in_memory_as_a_whole(tmp_path: Path) -> None:
    rng = random.Random(5)
    texts = [f"{rng.getrandbits(1_000):x}" for _ in range(40_000)]
    table = pyarrow.table({"source": texts, "target": texts})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=40_000, use_dictionary=False)
    del table
    before, corpus = pyarrow.total_allocated_bytes(), open_corpus([tmp_path / "a.parquet"])
    most = max(pyarrow.total_allocated_bytes() - before for _ in corpus.chunks())
    assert most < corpus.size / 4


def damaged(folder: Path) -> Iterator[tuple[list[Path], str]]:
    """Corpora, and what is said about them."""
    pairs = pairs_of(700)
    (folder / "cut.tsv.gz").write_bytes(write(folder / "whole.tsv.gz", pairs).read_bytes()[:-50])
    yield [folder / "cut.tsv.gz"], "cut.tsv.gz cannot be read: Compressed file ended before"
    (folder / "no.parquet").write_text("no")
    yield [folder / "no.parquet"], "no.parquet cannot be read: "
    parquet.write_table(pyarrow.table({"source": ["a"]}), folder / "one.parquet")
    yield [folder / "one.parquet"], "one column; it needs the columns source and target"
    yield [folder / "missing.tsv"], "missing.tsv cannot be read: No such file"
    (folder / "empty").mkdir()
    yield [folder / "empty"], "empty holds no corpus; put files there that end in .tsv, .txt, .gz, .parquet"
    (folder / "a").write_text("a\nb\n")
    (folder / "b").write_text("a\n")
    yield [folder / "a", folder / "b"], "different numbers of lines; they must have equally many"
    yield [folder / "a"] * 3, "3 files are too many"


def test_a_corpus_that_cannot_be_read_gets_one_sentence(tmp_path: Path) -> None:
    for paths, said in damaged(tmp_path):
        with pytest.raises(DataError, match=re.escape(said)):
            list(open_corpus(paths).chunks())


def test_sources_are_grouped_over_all_chunks(tmp_path: Path, small: None) -> None:
    pairs = [(f"s{number % 7}", f"t{number}") for number in range(20)]
    wrong: list[str] = []
    chunks = list(grouped(open_corpus([write(tmp_path / "a.tsv", pairs)]).chunks(), wrong.append))
    sources, references = group_references([pair for number, pair in enumerate(pairs) if number != BROKEN])
    assert [row for chunk in chunks for row in chunk.rows] == list(zip(sources, references, strict=True))
    assert [len(chunk.rows) for chunk in chunks] == [5, 2] and len(wrong) == 1 and "line 12: " in wrong[0]


# -- one process ------------------------------------------------------------------------------------------------------


def test_links_of_a_corpus_are_those_of_single_pairs(corpus: Path, capsys: Any) -> None:
    threads = torch.get_num_threads()
    assert main([*ALIGN, str(corpus)]) == 1
    out, err = capsys.readouterr()
    found = align(transformer.load("reverse"), pairs_of(33), Source("weights", "predicted", 1, 0))
    wanted = [pharaoh(links) for links in found]
    wanted[BROKEN] = ""
    assert out.splitlines() == wanted and err.count("line") == 1
    assert "pairs.tsv, line 12: there is no tab" in err and torch.get_num_threads() == threads


@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_a_run_goes_on_where_it_stopped(kind: str, corpus: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    command = [*ALIGN, str(corpus), "--format", kind, "--output"]
    assert main([*command, str(tmp_path / "whole")]) == 1
    ending = {"text": "txt", "parquet": "parquet"}[kind]
    names = [*(f"part-0000{number}.{ending}" for number in range(4)), "_errors-00001.txt"]
    whole = written(tmp_path / "whole")
    assert sorted(whole) == sorted(names)
    assert whole["_errors-00001.txt"].startswith(b"pairs.tsv, line 12: there is no tab")
    if kind == "parquet":
        table = parquet.read_table(tmp_path / "whole").to_pydict()
        assert table["line"] == list(range(1, 34)) and set(table["file"]) == {"pairs.tsv"}
        assert table["links"][BROKEN] == "" and all(table["links"][BROKEN + 1 :])

    computed: list[int] = []
    work = running.work

    def stopped(job: Any, rows: Any) -> Any:
        computed.append(len(rows))
        if len(computed) == 6:  # in the middle of the third shard
            raise KeyboardInterrupt
        return work(job, rows)

    monkeypatch.setattr(running, "work", stopped)
    assert main([*command, str(tmp_path / "half")]) == 130
    assert set(written(tmp_path / "half")) == {name for name in names if "00000" in name or "00001" in name}
    assert main([*command, str(tmp_path / "half")]) == 1  # a line of the first run was broken
    assert written(tmp_path / "half") == whole and computed == [5] * 6 + [5, 5, 3]
    assert main([*command, str(tmp_path / "half")]) == 1 and len(computed) == 9


def test_a_folder_of_another_run_is_refused(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    output = ["--output", str(tmp_path / "out")]
    assert main([*ALIGN, str(corpus), *output]) == 1
    other = write(tmp_path / "other.tsv", pairs_of(34))
    for options, name in (
        ([*ALIGN, str(other)], "input"),
        ([*ALIGN, str(corpus), "--reading", "fed"], "options"),
        ([*ALIGN, str(corpus), "--format", "parquet"], "options"),
        (["align", "--checkpoint", "reverse-gelu", *ALIGN[3:], str(corpus)], "model"),
        ([*EVALUATE, str(corpus)], "task, options"),
    ):
        capsys.readouterr()
        assert main([*options, *output]) == 2
        err = capsys.readouterr().err
        assert f"out belongs to another run, with another value of {name} in its _manifest.json; choose" in err
    (tmp_path / "out" / MANIFEST).write_text("[]")
    assert main([*ALIGN, str(corpus), *output]) == 2 and "value of _manifest.json" in capsys.readouterr().err
    assert main([*ALIGN, str(corpus), "--output", str(tmp_path)]) == 2
    assert "is not empty; choose a new folder" in capsys.readouterr().err
    assert main([*ALIGN[:-1], *output]) == 2 and "need --data; name a file" in capsys.readouterr().err
    assert main([*ALIGN, str(corpus), "--score"]) == 2 and "leave --data out" in capsys.readouterr().err


def test_scores_of_shards_are_those_of_one_run(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    """Of a task with several references; and close to those of all sentences in one chunk, which has other batches."""
    files = [tmp_path / name for name in ("stream.json", "shards.json", "again.json", "whole.json")]
    assert main([*EVALUATE, str(corpus), "--workers", "1", "--json", str(files[0])]) == 1
    assert "line 12: there is no tab" in capsys.readouterr().err
    output = ["--output", str(tmp_path / "out"), "--json"]
    assert main([*EVALUATE, str(corpus), *output, str(files[1])]) == 1
    (tmp_path / "out" / "part-00001.jsonl").unlink()
    assert main([*EVALUATE, str(corpus), *output, str(files[2])]) == 1
    write(tmp_path / "sound.tsv", [pair for number, pair in enumerate(pairs_of(33)) if number != BROKEN], None)
    assert main([*EVALUATE, str(tmp_path / "sound.tsv"), "--json", str(files[3])]) == 0
    stream, sharded, again, whole = (json.loads(file.read_text()) for file in files)
    for found in (stream, sharded, again, whole):
        del found["seconds"], found["data"]
    assert stream == sharded == again
    assert stream.pop("perplexity") == pytest.approx(whole.pop("perplexity"), rel=1e-5) and stream == whole


def test_tensors_of_a_corpus_are_those_of_trace_all(corpus: Path, tmp_path: Path) -> None:
    keep = ("cross.weights", "encoder_self.mask", "encoder_output")
    found = trace_corpus("reverse", [corpus], tmp_path / "out", keep)
    assert found.broken() and len(written(tmp_path / "out")) == 8  # seven chunks, and the broken line
    pairs, model = pairs_of(33), transformer.load("reverse")
    kept = list(read_traces(tmp_path / "out"))
    assert len(kept) == 33 and kept[BROKEN] is None
    for start in range(0, 33, 5):  # the same batches, so the same bits
        rows = [row for row in range(start, min(start + 5, 33)) if row != BROKEN]
        for row, one in zip(rows, model.trace_all([pairs[row] for row in rows], keep), strict=True):
            other = kept[row]
            assert other is not None and other.target_out_ids == one.target_out_ids
            assert other.source_ids == one.source_ids and other.target_in_ids == one.target_in_ids
            assert all(torch.equal(other[name], one[name]) and other[name].dtype == one[name].dtype for name in keep)
    with pytest.raises(CorpusError, match="there is no tensor 'x'; help"):
        trace_corpus("reverse", [corpus], tmp_path / "none", "x")


HEADS = ["heads", "--checkpoint", "reverse", "--evidence", "--data"]


def test_heads_of_a_corpus_are_those_of_its_pairs_at_once(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    """Roles, errors, evidence and statistics; words are rare in the whole corpus, not in a chunk."""
    sound = [pair for number, pair in enumerate(pairs_of(33)) if number != BROKEN]
    (tmp_path / "words.tsv").write_text("".join(f"{letter}\t{letter}\n" for letter in "abcdef"))
    words = ["--words", str(tmp_path / "words.tsv"), "--json"]
    files = [tmp_path / name for name in ("whole.json", "stream.json", "shards.json", "again.json")]
    whole = write(tmp_path / "sound.tsv", sound, None)
    assert main([*HEADS, str(whole), *words, str(files[0])]) == 0
    printed = capsys.readouterr().out
    assert main([*HEADS, str(corpus), "--workers", "1", *words, str(files[1])]) == 1
    out, err = capsys.readouterr()
    assert out == printed and "strongest" in out and err.count("line 12: there is no tab") == 1
    output = ["--output", str(tmp_path / "out")]
    assert main([*HEADS, str(corpus), *output, *words, str(files[2])]) == 1
    (tmp_path / "out" / "part-00002.jsonl").unlink()
    assert main([*HEADS, str(corpus), *output, *words, str(files[3])]) == 1
    found = [json.loads(file.read_text()) for file in files]
    assert found[0] == found[1] == found[2] == found[3] and found[0]["pairs"] == 32
    assert main([*HEADS, str(corpus), *output]) == 2 and "value of options" in capsys.readouterr().err  # another list
    write(tmp_path / "none.tsv", [(" ", "a"), ("a" * 99, "a")], 0)
    assert main([*HEADS, str(tmp_path / "none.tsv"), "--workers", "1"]) == 2
    err = capsys.readouterr().err
    assert (
        "line 2: the source text has 100 tokens; at most" in err and "no line of the corpus is a sentence pair" in err
    )


def test_importance_in_units_is_that_of_all_heads_at_once(
    corpus: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    """Of the first sentences of a corpus; here the units are computed in this process."""
    files = [tmp_path / name for name in ("whole.json", "units.json")]
    command = ["importance", "--checkpoint", "reverse", "--sentences", "14", "--json"]
    sound = [pair for number, pair in enumerate(pairs_of(15)) if number != BROKEN]
    assert main([*command, str(files[0]), "--data", str(write(tmp_path / "sound.tsv", sound, None))]) == 0
    printed = capsys.readouterr().out
    assert main([*command, str(files[1]), "--data", str(corpus), "--workers", "1"]) == 1
    out, err = capsys.readouterr()
    assert out == printed and err.count("line 12: there is no tab") == 1
    assert files[0].read_text() == files[1].read_text()
    # A folder of units keeps them: the second run computes the last one alone, the third none.
    kept = [*command, str(files[1]), "--data", str(corpus), "--output", str(tmp_path / "units")]
    assert main(kept) == 1
    units = sorted((tmp_path / "units").glob("part-*"))
    units[-1].unlink()
    done = {unit: unit.stat().st_mtime_ns for unit in units[:-1]}
    assert main(kept) == 1 and sorted((tmp_path / "units").glob("part-*")) == units
    assert {unit: unit.stat().st_mtime_ns for unit in units[:-1]} == done
    monkeypatch.setattr(running, "work", None)
    assert main(kept) == 1 and files[0].read_text() == files[1].read_text()


def test_hits_in_a_corpus_are_those_in_its_pairs(tmp_path: Path, small: None, monkeypatch: Any) -> None:
    """More hits than are kept; the strongest in order, and the counts of all."""
    monkeypatch.setattr(search, "MOST_HITS", 3)
    model, pairs = transformer.load("reverse"), pairs_of(33)
    corpus, wrong = write(tmp_path / "pairs.tsv", pairs), list[str]()
    sound = [number for number in range(33) if number != BROKEN]
    for what, question in (
        ("attention", {"kind": "cross", "layer": 1, "head": 0, "at_least": 0.1, "reading": "fed"}),
        ("neuron", {"stack": "encoder", "layer": 0, "neuron": 3, "at_least": 0.01}),
    ):
        found = search_corpus("reverse", [corpus], what, complain=wrong.append, **question)
        folder = tmp_path / what
        for _run in range(2):
            assert search_corpus("reverse", [corpus], what, complain=wrong.append, folder=folder, **question) == found
        look = {"attention": search.search_attention, "neuron": search.search_neuron}[what]
        wanted = look(model, [pairs[number] for number in sound], **question)  # type: ignore[operator]
        assert (found.count, found.rows, found.pairs) == (wanted.count, wanted.rows, wanted.pairs) and found.count > 12
        assert len(found.hits) == 3
        for hit, other in zip(found.hits, wanted.hits, strict=True):
            assert hit.value == pytest.approx(other.value, abs=1e-6)  # other batches
            assert (hit.pair, hit.row, hit.column, hit.words) == (
                sound[other.pair],
                other.row,
                other.column,
                other.words,
            )
    assert len(wrong) == 4 and "line 12: there is no tab" in wrong[0]
    with pytest.raises(CorpusError, match="head 9 does not exist"):
        search_corpus(
            "reverse", [corpus], "attention", complain=wrong.append, kind="cross", layer=0, head=8, at_least=0
        )


# -- many processes ---------------------------------------------------------------------------------------------------


def test_large_inputs_use_all_cores_where_dask_is(corpus: Path, monkeypatch: Any, capsys: Any) -> None:
    asked: list[int] = []

    def remote(job: Any, chunks: Any, workers: int, scheduler: str | None) -> Any:
        asked.append(workers)
        return running._here(job, chunks)

    monkeypatch.setattr(running, "_remote", remote)
    monkeypatch.setattr(corpus_command, "cores", lambda: 7)
    assert main([*ALIGN, str(corpus)]) == 1 and asked == []
    monkeypatch.setattr(corpus_command, "LARGE", corpus.stat().st_size)
    assert main([*ALIGN, str(corpus)]) == 1 and asked == [7]
    assert main([*ALIGN, str(corpus), "--workers", "1"]) == 1 and asked == [7]
    monkeypatch.setattr(running, "find_spec", lambda name: None)
    assert main([*ALIGN, str(corpus)]) == 1 and asked == [7]
    monkeypatch.undo()
    monkeypatch.setattr(running, "find_spec", lambda name: None)
    assert main([*ALIGN, str(corpus), "--workers", "2"]) == 2
    assert "install the project with its extra [cluster], or use --workers 1" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_tells_the_time_left(terminal: bool, monkeypatch: Any, capsys: Any) -> None:
    now = iter([0.0, 10.0, 20.0, 100.0, 100.1, 200.0])
    monkeypatch.setattr(corpus_command.time, "monotonic", lambda: next(now))
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    told = corpus_command.Progress(1_000)
    for read in (100, 300, 500, 501, 1_000):  # the first 100 bytes were done before
        told(read, 100)
    err = capsys.readouterr().err
    if terminal:
        assert err == "\r30.0%, 0:01:10 left \r50.0%, 0:02:05 left \r100.0%, 0:00:00 left \n"
    else:
        assert err == "50.0%, 0:02:05 left\n100.0%, 0:00:00 left\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_two_processes_give_what_one_gives(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    big, two = write(tmp_path / "pairs.tsv", pairs_of(1_700)), write(tmp_path / "two.tsv", pairs_of(501))
    question: dict[str, Any] = {"kind": "cross", "layer": 1, "head": 0, "at_least": 0.1}
    importance = ["importance", "--checkpoint", "reverse", "--sentences", "12", "--no-pruning", "--data"]
    found = []
    for workers in (1, 2):
        many, traces = ["--workers", str(workers)], tmp_path / f"traces{workers}"
        assert main([*ALIGN, str(big), *many]) == 1
        values = []
        for arguments, file in ((EVALUATE, big), (HEADS, two), (importance, two)):
            scores = tmp_path / "scores.json"
            assert main([*arguments, str(file), *many, "--json", str(scores)]) == 1
            values.append({name: value for name, value in json.loads(scores.read_text()).items() if name != "seconds"})
        said = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("seconds")]
        hits = search_corpus("reverse", [two], "attention", complain=lambda line: None, workers=workers, **question)
        trace_corpus("reverse", [two], traces, workers=workers)
        found.append((said, values, hits, written(traces)))
    assert found[0] == found[1] and len(found[0][0]) > 1_700
    monkeypatch.setattr(running, "PATIENCE", 1)
    assert main([*ALIGN, str(big), "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert "no worker answers at tcp://127.0.0.1:1: " in capsys.readouterr().err


def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler with two workers, and these."""
    file, environment = folder / "scheduler.json", {**os.environ, "PYTHONPATH": str(ROOT)}
    dask = [sys.executable, "-m", "dask"]
    worker = [*dask, "worker", "--no-nanny", "--nthreads", "1"]
    started = [
        subprocess.Popen([*command, "--scheduler-file", str(file), "--dashboard-address", "127.0.0.1:0"],
                         cwd=folder, env=environment, stderr=subprocess.DEVNULL)
        for command in ([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0"], worker, worker)
    ]  # fmt: skip
    try:
        until = time.monotonic() + PATIENCE
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.1)
        yield json.loads(file.read_text())["address"], started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("where", ["here", "cluster"])
def test_a_killed_worker_loses_no_line_and_doubles_none(where: str, tmp_path: Path) -> None:
    big, output = write(tmp_path / "pairs.tsv", pairs_of(40_000)), tmp_path / "out"
    with contextlib.contextmanager(cluster)(tmp_path) if where == "cluster" else contextlib.nullcontext(("", [])) as (
        address, workers,
    ):  # fmt: skip
        many = ["--scheduler", address] if address else ["--workers", "2"]
        command = [sys.executable, "-m", "transformer", *ALIGN, str(big), *many, "--output", str(output)]
        run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
        until = time.monotonic() + 10 * PATIENCE
        while not (output / "part-00000.txt").exists() and run.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        spawned = [one for one in children(run.pid) if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
        killed = workers[0].pid if workers else spawned[0]
        os.kill(killed, signal.SIGKILL)
        assert not (output / "part-00003.txt").exists()  # in the middle
        _out, err = run.communicate()
    assert run.returncode == 1 and not there(killed) and err.count(b"line 12: there is no tab") == 1, err
    assert main([*ALIGN, str(big), "--workers", "1", "--output", str(tmp_path / "alone")]) == 1
    alone = written(tmp_path / "alone")
    assert len(alone) == 5 and alone == written(output)
    assert [data.count(b"\n") for name, data in sorted(alone.items()) if name.startswith("part")] == [10_000] * 4
