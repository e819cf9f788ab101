"""How much each constraint prunes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import MissingExtra
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.constraints import Constraint
from autosync_lab.space.count import log10_size
from autosync_lab.space.domain import Domain
from autosync_lab.space.narrowing import narrowed
from autosync_lab.space.uniform import draw_uniform

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 400
"""Strategies drawn to estimate which part of a space keeps a rule."""

Z = 1.959963984540054
"""Standard deviations of a 95 percent interval."""

SHARDS_AT_ONCE = 2_000_000
"""Draws are made in portions of about this many shards."""


@dataclass(frozen=True)
class SpaceSize:
    """log10 of a number of strategies; `exact`, or an estimate with a 95 percent interval. An estimate without any
    strategy that was found has `value` NaN and `low` minus infinity."""

    value: float
    low: float
    high: float
    exact: bool

    def __str__(self) -> str:
        if self.exact:
            return f"{self.value:.1f}"
        if math.isnan(self.value):
            return f"below {self.high:.1f}"
        return f"about {self.value:.1f} ({self.low:.1f} to {self.high:.1f})"


@dataclass(frozen=True)
class PruningStep:
    """One row: a constraint's name and reason, and log10 of the size before and after it."""

    constraint: str
    reason: str
    before: SpaceSize
    after: SpaceSize


@dataclass(frozen=True)
class SpaceReport:
    """How a space is pruned, constraint by constraint in their order.

    `valid` is the size of everything valid, `locked` what locks leave of it.
    """

    valid: SpaceSize
    locked: SpaceSize
    steps: tuple[PruningStep, ...]

    @property
    def size(self) -> SpaceSize:
        """What is left in the end."""
        return self.steps[-1].after if self.steps else self.locked

    @property
    def log10_size(self) -> float:
        """log10 of what is left in the end."""
        return self.size.value

    def __iter__(self) -> Iterator[PruningStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def to_rows(self) -> list[dict[str, Any]]:
        """One plain row per constraint; the first rows are "valid" and, if it differs, "locked"."""
        first = [("valid", "everything that runs", self.valid, self.valid)]
        if self.locked != self.valid:
            first.append(("locked", "choices that the user made", self.valid, self.locked))
        rows = first + [(s.constraint, s.reason, s.before, s.after) for s in self.steps]
        return [
            {
                "constraint": name,
                "log10_before": before.value,
                "log10_after": after.value,
                "log10_after_low": after.low,
                "log10_after_high": after.high,
                "exact": after.exact,
                "reason": reason,
            }
            for name, reason, before, after in rows
        ]

    def to_frame(self) -> "pd.DataFrame":
        """`to_rows` as a table.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra("pandas", "study") from None
        return pd.DataFrame(self.to_rows())

    def __str__(self) -> str:
        width = max([len(s.constraint) for s in self.steps] + [len("constraint")])
        lines = [f"{'constraint':{width}}  log10 size"]
        lines += [f"{'(valid)':{width}}  {self.valid}"]
        if self.locked != self.valid:
            lines += [f"{'(locked)':{width}}  {self.locked}"]
        lines += [f"{s.constraint:{width}}  {s.after}" for s in self.steps]
        return "\n".join(lines)


def report(
    model: ModelSpec,
    cluster: ClusterSpec,
    valid: Domain,
    locked: Domain,
    constraints: Sequence[Constraint],
) -> SpaceReport:
    """The report of a space.

    Sizes are exact as long as constraints narrow the domain exactly. From the first one that does not, the size is that
    of the domain times the share of uniform draws which keep all such constraints.
    """
    now = _exactly(log10_size(model, valid))
    begin = now if locked == valid else _exactly(log10_size(model, locked))
    steps: list[PruningStep] = []
    domain, judges = locked, []
    before = begin
    for rule in constraints:
        narrow = narrowed(domain, rule, model)
        same, domain = narrow == domain, narrow
        if not rule.exact:
            judges.append(rule)
        elif same:
            steps.append(PruningStep(rule.name, rule.reason, before, before))
            continue
        whole = log10_size(model, domain)
        after = _estimate(model, cluster, domain, judges, whole) if judges else _exactly(whole)
        steps.append(PruningStep(rule.name, rule.reason, before, after))
        before = after
    return SpaceReport(now, begin, tuple(steps))


def _exactly(value: float) -> SpaceSize:
    return SpaceSize(value, value, value, True)


def _estimate(
    model: ModelSpec, cluster: ClusterSpec, domain: Domain, judges: Sequence[Constraint], whole: float
) -> SpaceSize:
    """`whole` times the share that keeps the rules, with its Wilson interval."""
    rng = np.random.default_rng(0)
    shards = sum(max(p.shards for p in d.partitions) for d in domain.variables)
    portion = max(1, min(DRAWS, SHARDS_AT_ONCE // shards))
    kept = drawn = 0
    while drawn < DRAWS:
        batch = draw_uniform(model, cluster, domain, min(portion, DRAWS - drawn), rng)
        right = np.ones(len(batch), np.bool_)
        for rule in judges:
            right &= rule.holds_all(batch)
        kept, drawn = kept + int(right.sum()), drawn + len(batch)
    # Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.
    share = kept / drawn
    centre = (share + Z * Z / (2 * drawn)) / (1 + Z * Z / drawn)
    half = Z / (1 + Z * Z / drawn) * math.sqrt(share * (1 - share) / drawn + Z * Z / (4 * drawn * drawn))
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return SpaceSize(
        whole + math.log10(share) if kept else math.nan,
        whole + math.log10(low) if kept and low > 0 else -math.inf,
        whole + math.log10(high),
        False,
    )
