"""`StudyEvent`: something that happened in a study."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

EventKind = Literal[
    "study-started",
    "baseline",
    "baseline-left-out",
    "proposal-round",
    "history-differs",
    "space-exhausted",
    "trial-started",
    "trial-ended",
    "anchor",
    "failed",
    "paused",
    "resumed",
    "stopped",
    "confirmed",
    "study-ended",
]

EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)


@dataclass(frozen=True)
class StudyEvent:
    """Something that happened in a study.

    Parameters
    ----------
    number : int
        From 1, without gaps within a study.
    time : str
        UTC, ISO 8601.
    kind : str
        One of `EVENT_KINDS`.

        - study-started: `model`, `cluster`, `algorithm`, `simulator`, `n_trials`, `batch_size`, `seed`, and
          `measured`, the number of proposals that were measured before.
        - baseline: `trial`, `label`, `step_time_s`; baseline-left-out: `label`, `why`.
        - proposal-round: `round`, `asks` (how many the search was asked for, one number per ask), `skipped`
          (duplicates), `proposals` (`strategy`, `predicted_s`).
        - history-differs: `round`; the search, asked again, proposed other strategies than those that are stored.
        - space-exhausted: `round`, `asks`; everything that the search proposes was measured.
        - trial-started: `role`, `round`, `label`, `strategy`; trial-ended: also `number`, `trial`, `status`,
          `step_time_s`, `simulated`.
        - anchor: `trial`, `label`, `step_time_s`, `ratio` (to its first time).
        - failed: `trial`, `label`, `strategy`, `stage`, `error`.
        - stopped: `reason` ("stop" or "interrupt").
        - confirmed: what `Speedup.from_json` reads.
        - study-ended: `state`, `measured`, and `error` where the state is "failed".
    data : dict
        JSON; a number that JSON does not have is None.
    """

    number: int
    time: str
    kind: EventKind
    data: dict[str, Any]
