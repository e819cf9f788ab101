"""Fields of a JSON document, checked one by one."""

import math
from typing import Any

from autosync_lab.errors import InvalidModel

KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "whole number": (int,),
    "number": (int, float),
    "true or false": (bool,),
    "list": (list,),
    "object": (dict,),
}
"""Kinds of values, as errors call them."""


def check(value: Any, kind: str, what: str, where: str | None) -> Any:
    """The value, if it is of a kind of `KINDS`.

    Raises
    ------
    InvalidModel
        If it is not, or is a number that is not finite.
    """
    types = KINDS[kind]
    wrong = not isinstance(value, types) or (isinstance(value, bool) and bool not in types)
    if wrong or (isinstance(value, float) and not math.isfinite(value)):
        shown = value if isinstance(value, str | int | float | None) else type(value).__name__
        raise InvalidModel(f"{what} is a {kind}", where=where, received=shown if shown is not None else "null")
    return value
