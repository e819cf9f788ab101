"""All ablations by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.learned import Recipe
from autosync_lab.study.ablations import constraints, proposals, simulators, transfer
from autosync_lab.study.ablations.comparison import Comparison
from autosync_lab.study.ablations.measured_pairs import MeasuredPair, measured_pairs
from autosync_lab.study.data_set.data_set import DataSet

if TYPE_CHECKING:
    import pandas as pd

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """What ablations are made with.

    Parameters
    ----------
    data_set : DataSet
        Of measured trials.
    seeds : sequence of int
        Of played clusters, searches and splits.
    trials : int
        Of each search on a played cluster.
    tell : callable
        Gets a line when something begins.
    """

    data_set: DataSet
    seeds: Sequence[int] = range(3)
    trials: int = 24
    tell: Tell = lambda _: None

    @cached_property
    def pairs(self) -> dict[tuple[str, str], MeasuredPair]:
        """Pairs with enough measured trials."""
        return measured_pairs(self.data_set)


def _constraints(s: Settings) -> list[Comparison]:
    return [*constraints.on_measured_trials(s.data_set, s.tell), *constraints.one_by_one(s.seeds, s.tell)]


def _transfer(s: Settings) -> list[Comparison]:
    recipes = (Recipe("linear", prior=False), Recipe("gp"))
    return transfer.compare_sources(s.pairs, recipes, s.tell)


ABLATIONS: Mapping[str, Callable[[Settings], list[Comparison]]] = {
    "constraints": _constraints,
    "proposals": lambda s: proposals.breed_proposals(s.seeds, s.trials, s.tell),
    "simulator": lambda s: proposals.add_simulator(s.seeds, s.trials, s.tell),
    "rankers": lambda s: simulators.compare_simulators(list(s.pairs.values()), s.seeds, s.tell),
    "transfer": _transfer,
    "first-trials": lambda s: [transfer.compare_first_trials(s.pairs, Recipe("gp"), s.tell)],
}
"""What each is called, and how it is made."""


def ablate(names: Sequence[str], settings: Settings) -> list[Comparison]:
    """Make some ablations, in this order.

    Raises
    ------
    InvalidInput
        If there is none of a name.
    MissingExtra
        If a ranker needs a package that is not installed.
    """
    for name in names:
        if name not in ABLATIONS:
            raise InvalidInput("unknown ablation", received=name, valid=ABLATIONS)
    return [comparison for name in names for comparison in ABLATIONS[name](settings)]


def ablation_frame(comparisons: Sequence[Comparison]) -> "pd.DataFrame":
    """One row per comparison: means, what the change adds with its 95 % interval, and what the paper says."""
    import pandas

    rows = []
    for c in comparisons:
        mean, low, high = c.difference
        rows.append(
            {
                "change": c.change,
                "where": c.where,
                "metric": c.metric,
                "simulated": c.simulated,
                "without": _mean(c.without),
                "with": _mean(c.with_it),
                "difference": mean,
                "low": low,
                "high": high,
                "samples": len(c.with_it),
                "verdict": c.verdict,
                "paper": c.paper,
                "paper's effect holds": {True: "yes", False: "no, the opposite", None: "not clear"}[c.holds]
                if c.expected
                else "",
            }
        )
    return pandas.DataFrame(rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
