"""Zips of checkpoints with something wrong in them: a good one, damaged at random, read and opened in memory."""

import io
import struct
import warnings
import zipfile
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.common import damaged_bytes, flips, one_sentence
from tests.fuzz.folders import base, changed
from transformer.checkpoints.archive import LARGEST, read_zip, zipped
from transformer.checkpoints.folder import FILES, CheckpointError
from transformer.inference.pretrained import InputError, open_files

Entry = tuple[zipfile.ZipInfo, bytes]


def entry(name: str, data: bytes, **fields: Any) -> Entry:
    info = zipfile.ZipInfo("x")
    info.filename = name  # as it is: `ZipInfo` would mend it
    info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def packed(entries: list[Entry], comment: bytes = b"") -> bytes:
    """A zip of these entries, as they are."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")  # meant
        for info, data in entries:
            archive.writestr(info, data)
        archive.comment = comment
    return written.getvalue()


def directory(data: bytes) -> int:
    """Where a zip's list of entries begins, as its end says."""
    return int(struct.unpack("<L", data[-6:-2])[0])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good zip in which some bytes are wrong, of its list of files or anywhere; one of its files is, too, in half of
    the cases. tests/checkpoints/test_archive.py has what somebody may put into a zip on purpose."""
    files = dict(base())
    if draw(st.booleans()):
        name = draw(st.sampled_from(sorted(files)))
        files[name] = draw(changed(name, files[name]))
    data = zipped(files, "mine")
    for _ in range(draw(st.sampled_from((0, 1, 1, 2)))):
        if data[-22:-18] == b"PK\5\6":
            in_list = flips(data, min(directory(data), len(data) - 1))
            data = draw(st.one_of(in_list, in_list, damaged_bytes(data)))
    return data


def check(data: bytes) -> bool:
    """Read the zip, open and use what it holds. Returns whether it could be opened."""
    try:
        files = read_zip(data)
        assert set(files) <= set(FILES) and sum(map(len, files.values())) <= LARGEST
        assert read_zip(zipped(files, "again")) == files
        model = open_files(files, "mine")
    except CheckpointError as error:
        one_sentence(str(error))
        return False
    try:
        model.trace("ka lo mi", limit=12)
    except InputError as error:
        one_sentence(str(error))
    return True
