#!/bin/sh
# pyarrow's ParquetFile(path, buffer_size=...) still reads a whole row group into memory, and so does pre_buffer=False:
# only both together read it piece by piece.
#
# With: pyarrow 26.0.1, Python 3.11; Linux; tried on 2026-11-28.
#
# iter_batches(500) looks as if it needed memory for 500 rows. But pre_buffer, which is True by default, fetches the
# column chunks of a row group before the first batch, and then buffer_size ("perform read buffering when deserializing
# individual column chunks") has no effect and gives no warning. Without pre_buffer alone, each column chunk is read in
# one go, because reads are unbuffered by default. Many writers put up to a million rows, or all, into one row group, so a
# reader that streams such a file grows with it.
#
# Seen, with one row group of 36 MB: bytes of Arrow's memory at the first batch of 500 rows, in MB
#
#     default                           37.7
#     buffer_size=65536                 37.7
#     pre_buffer=False                  37.7
#     buffer_size, pre_buffer=False      2.3
#
# Fails if buffer_size or pre_buffer=False alone is enough.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import random

import pyarrow
from pyarrow import parquet

rng = random.Random(1)
texts = [f"{rng.getrandbits(240):060x}" for _ in range(300_000)]
table = pyarrow.table({"source": texts, "target": texts})
parquet.write_table(table, "one.parquet", row_group_size=len(texts), use_dictionary=False)
del table


def megabytes(**settings):
    before = pyarrow.total_allocated_bytes()
    batches = parquet.ParquetFile("one.parquet", **settings).iter_batches(500)
    next(batches)
    return (pyarrow.total_allocated_bytes() - before) / 1e6


found = {
    "default": megabytes(),
    "buffer_size=65536": megabytes(buffer_size=65536),
    "pre_buffer=False": megabytes(pre_buffer=False),
    "buffer_size, pre_buffer=False": megabytes(buffer_size=65536, pre_buffer=False),
}
for name, size in found.items():
    print(f"{name:32}{size:6.1f}")
default, buffered, plain, both = found.values()
assert both < 5 < 30 < default
assert buffered > 30 and plain > 30, "one setting is enough: this finding is out of date"
PYTHON
