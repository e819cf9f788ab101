"""Timelines of trials in the Trace Event Format, which chrome://tracing and ui.perfetto.dev open.

Source: "Trace Event Format", the Chromium project; complete events (`ph` X) and metadata events (`ph` M), times in
microseconds.
"""

from collections.abc import Iterable
from typing import Any

from autosync_lab.runtime.trial import Trial

_US_PER_S = 1e6


def chrome_trace(trials: Iterable[Trial]) -> dict[str, Any]:
    """One JSON document: a process per trial and worker, a thread per lane, a bar per event.

    Trials without events (not traced, or failed before the traced step) add nothing.
    """
    events: list[dict[str, Any]] = []
    processes: dict[tuple[str, str], int] = {}
    threads: dict[tuple[int, str], int] = {}
    for trial in trials:
        origin = "simulated" if trial.simulated else "measured"
        for event in trial.events:
            process = processes.get((trial.id, event.worker))
            if process is None:
                process = processes[trial.id, event.worker] = len(processes) + 1
                name = f"{trial.label} ({origin}) · worker {event.worker}"
                events.append(_name("process_name", name, process))
            thread = threads.get((process, event.lane))
            if thread is None:
                thread = threads[process, event.lane] = len(threads) + 1
                events.append(_name("thread_name", event.lane, process, thread))
            events.append(
                {
                    "ph": "X",
                    "name": event.name,
                    "cat": event.lane,
                    "pid": process,
                    "tid": thread,
                    "ts": event.start_s * _US_PER_S,
                    "dur": (event.end_s - event.start_s) * _US_PER_S,
                }
            )
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _name(kind: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}
