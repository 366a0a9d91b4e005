"""The key that opens the operator's page and the metrics of a server. Uses only the standard library."""

import hmac
import os

VARIABLE = "HEADSCOPE_OPERATOR"
LEAST = 16  # characters; fewer could be guessed


def operator_key() -> str:
    """The key of this server: HEADSCOPE_OPERATOR, which `headscope --operator` sets; "" if there is no such page."""
    key = os.environ.get(VARIABLE, "")
    return key if len(key) >= LEAST else ""


def opens(given: str) -> bool:
    """Whether this is the key. The time it takes does not tell how much of it is right."""
    key = operator_key()
    return bool(key) and hmac.compare_digest(given.encode("utf-8", "replace"), key.encode("utf-8", "replace"))
