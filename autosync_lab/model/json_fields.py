"""Fields of a JSON document, checked one by one."""

import math
from typing import Any

from autosync_lab.errors import InvalidModel

KINDS: dict[str, tuple[type, ...]] = {
    "a text": (str,),
    "a whole number": (int,),
    "a number": (int, float),
    "true or false": (bool,),
    "a list": (list,),
    "an object": (dict,),
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
        shown = "null" if value is None else value if isinstance(value, str | int | float) else type(value).__name__
        raise InvalidModel(f"{what} is {kind}", where=where, received=shown)
    return value
