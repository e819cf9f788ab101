"""Content hashes: equal content, equal id, in every process."""

import hashlib
import json
from typing import Any


def content_hash(document: Any, length: int = 16) -> str:
    """Hash a JSON document.

    Parameters
    ----------
    document : JSON-serializable
        Keys are sorted, so their order does not matter.
    length : int
        Hex digits returned; 16 digits are 64 bits.
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:length]
