"""Arrays, each with a JSON document, as bytes: a NumPy archive without pickle."""

import io
import json
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


def pack(items: Iterable[tuple[Any, npt.NDArray[Any]]]) -> bytes:
    """An archive of arrays `array0`, `array1`, ..., whose member `header` is the JSON text of their documents."""
    documents, bits = [], []
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, (document, array) in enumerate(items):
        documents.append(document)
        # NumPy cannot store bfloat16 (an extension dtype): its bits travel as uint16.
        if array.dtype.name == "bfloat16":
            bits.append(number)
            array = array.view(np.uint16)
        arrays[f"array{number}"] = array
    header = json.dumps({"documents": documents, "bfloat16": bits}).encode()
    arrays["header"] = np.frombuffer(header, np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stub takes keywords for its own flags
    return buffer.getvalue()


def unpack(data: bytes) -> list[tuple[Any, npt.NDArray[Any]]]:
    """Inverse of `pack`.

    Raises
    ------
    ValueError
        If the bytes are no such archive.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            items = [(document, archive[f"array{i}"]) for i, document in enumerate(header["documents"])]
        if header["bfloat16"]:
            import ml_dtypes

            for number in header["bfloat16"]:
                document, array = items[number]
                items[number] = document, array.view(ml_dtypes.bfloat16)
    except (KeyError, IndexError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"no archive of arrays: {error}") from None
    return items
