"""Reading model files: JSON, as `ModelSpec.to_json` writes it."""

import json
from pathlib import Path
from typing import Any, NoReturn

from autosync_lab.errors import InvalidModel
from autosync_lab.model.spec import ModelSpec

MAX_FILE_BYTES = 64 << 20


def read_model(path: Path) -> ModelSpec:
    """Read a model file.

    Raises
    ------
    InvalidModel
        If it cannot be read, or is no model.
    """
    where = str(path)
    try:
        if path.exists() and not path.is_file():
            raise InvalidModel("a model file is a regular file", where=where)
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise InvalidModel(f"a model file has at most {MAX_FILE_BYTES} bytes", where=where, received=size)
        data = path.read_bytes()
    except OSError as error:
        raise InvalidModel(f"the file cannot be read: {error.strerror}", where=where) from None
    except ValueError as error:
        if isinstance(error, InvalidModel):
            raise
        raise InvalidModel(f"this is no path: {error}", where=where) from None
    return parse_model(data, where)


def parse_model(data: bytes, where: str) -> ModelSpec:
    """A model from the bytes of its file.

    Raises
    ------
    InvalidModel
        If they are no JSON, or no model.
    """
    try:
        document: Any = json.loads(data.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise InvalidModel("this is no model file: it is nested too deep", where=where) from None
    except ValueError as error:
        raise InvalidModel(f"this is no JSON: {error}", where=where) from None
    return ModelSpec.from_json(document, where=where)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number in JSON")
