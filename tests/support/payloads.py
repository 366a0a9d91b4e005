"""The format of payloads, read by code of its own."""

import json
import struct
from typing import Any

import numpy as np


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header, and the bytes that its references name: the format written down once more, independently."""
    assert data[:4] == b"HSP1"
    (length,) = struct.unpack("<I", data[4:8])
    header = json.loads(data[8 : 8 + length])
    assert (8 + length) % 8 == 0
    return header, data[8 + length :]


def array(reference: dict[str, Any], data: bytes) -> np.ndarray:
    assert reference["offset"] % 8 == 0
    count = int(np.prod(reference["shape"]))
    return np.frombuffer(data, reference["dtype"], count, reference["offset"]).reshape(reference["shape"])
