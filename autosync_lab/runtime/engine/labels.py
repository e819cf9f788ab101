"""Names for a graph: what the user called a variable, made fit for TensorFlow and distinct from the engine's own."""

import re
from collections.abc import Iterable

OWN = ">"
"""Starts what the engine adds to a label. No label has it, so no variable can be taken for another one's shard or slot,
whatever the user called it; TensorFlow allows it in the names of operations."""


def labels(names: Iterable[str]) -> dict[str, str]:
    """One distinct label for each name: the name itself where TensorFlow can take it; the same in every process."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        label = base = re.sub(r"[^A-Za-z0-9_./-]", "_", name)
        number = 1
        while label in taken:
            label, number = f"{base}_{number}", number + 1
        taken.add(label)
        made[name] = label
    return made
