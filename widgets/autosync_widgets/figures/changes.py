"""The smallest message that turns one plotly figure into the next."""

from typing import Any

Spec = dict[str, Any]
Change = dict[str, Any]


def changes(old: Spec, new: Spec) -> list[Change] | None:
    """What to do to a drawn figure `old` so that it shows `new`.

    Traces are the same if their position, `uid` and `type` are. An array that only grew is extended by its tail, so an
    update stays small however many points there are.

    Parameters
    ----------
    old, new : dict
        Figures as plain data: `data` and `layout`.

    Returns
    -------
    list of dict, or None
        In order: {"do": "extend", "trace", "arrays"}, {"do": "restyle", "trace", "values"}, {"do": "add", "trace"} and
        {"do": "relayout", "values"}, where values have dotted keys and None removes one. None if the figure must be
        drawn anew, because a trace is gone or became another one.
    """
    old_traces, new_traces = old["data"], new["data"]
    if len(new_traces) < len(old_traces):
        return None
    if any(_identity(a) != _identity(b) for a, b in zip(old_traces, new_traces, strict=False)):
        return None
    found: list[Change] = []
    for index, (before, after) in enumerate(zip(old_traces, new_traces, strict=False)):
        found += _trace_changes(index, before, after)
    found += [{"do": "add", "trace": trace} for trace in new_traces[len(old_traces) :]]
    values = _differences(flat(old["layout"]), flat(new["layout"]))
    if values:
        found.append({"do": "relayout", "values": values})
    return found


def flat(values: Spec, prefix: str = "") -> Spec:
    """Nested dicts as one dict with dotted keys; lists stay whole."""
    result: Spec = {}
    for key, value in values.items():
        if isinstance(value, dict):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[prefix + key] = value
    return result


def _identity(trace: Spec) -> tuple[Any, Any]:
    return trace.get("uid"), trace.get("type")


def _trace_changes(index: int, before: Spec, after: Spec) -> list[Change]:
    arrays = [k for k, v in after.items() if isinstance(v, list)]
    tails = {k: after[k][len(before.get(k, [])) :] for k in arrays}
    grew = (
        all(isinstance(before.get(k), list) and after[k][: len(before[k])] == before[k] for k in arrays)
        and len({len(tail) for tail in tails.values()}) == 1
        and any(tails.values())
    )
    found: list[Change] = []
    if grew:
        found.append({"do": "extend", "trace": index, "arrays": tails})
        before = before | {k: after[k] for k in arrays}
    values = _differences(flat(before), flat(after))
    if values:
        found.append({"do": "restyle", "trace": index, "values": values})
    return found


def _differences(before: Spec, after: Spec) -> Spec:
    changed = {k: v for k, v in after.items() if k not in before or before[k] != v}
    return changed | {k: None for k in before if k not in after}
