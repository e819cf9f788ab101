"""Names that are unique among others."""


def unused_name(name: str, taken: set[str]) -> str:
    """The name itself, or the first of name_1, name_2, ... that is not taken; it is taken from now on."""
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate
