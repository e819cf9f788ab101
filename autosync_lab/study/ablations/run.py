"""All ablations by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.learned import Recipe
from autosync_lab.study.ablations import constraints, proposals, simulators, transfer
from autosync_lab.study.ablations.comparison import Comparison
from autosync_lab.study.ablations.measured_pairs import LEAST_STRATEGIES, MeasuredPair, measured_pairs
from autosync_lab.study.ablations.piece import Piece
from autosync_lab.study.data_set.data_set import DataSet

if TYPE_CHECKING:
    import pandas as pd

Tell = Callable[[str, float], None]
"""Gets what begins, and the share of all that is done, 0 to 1."""


@dataclass(frozen=True)
class Settings:
    """What ablations are made with.

    Parameters
    ----------
    data_set : DataSet
        Of measured trials.
    seeds : sequence of int
        Of played clusters and searches on them.
    trials : int
        Of each search on a played cluster.
    splits : int
        Of each pair's measured trials into those that a simulator learns from and those that it ranks.
    tell : callable
        Is told when something begins: what, and the share of all that is done, 0 to 1.
    """

    data_set: DataSet
    seeds: Sequence[int] = range(6)
    trials: int = 24
    splits: int = 1
    tell: Tell = lambda _what, _share: None

    @cached_property
    def pairs(self) -> dict[tuple[str, str], MeasuredPair]:
        """Pairs with enough measured trials.

        Raises
        ------
        InvalidInput
            If there are fewer than two: nothing can be compared.
        """
        found = measured_pairs(self.data_set)
        if len(found) < 2:
            raise InvalidInput(
                f"this ablation compares over two or more pairs of a model and a cluster that have {LEAST_STRATEGIES}"
                " measured strategies and a lossless builder among them",
                received=f"a data set of {len(self.data_set.pairs)} pairs, {len(found)} of them with enough",
            )
        return found

    @cached_property
    def accuracies(self) -> simulators.Accuracies:
        """What simulators reached on these pairs: each is evaluated once."""
        return {}


def _simulators(name: str, s: Settings) -> list[Piece]:
    return simulators.compare_simulators(name, list(s.pairs.values()), s.splits, s.accuracies)


def _transfer(s: Settings) -> list[Piece]:
    return transfer.compare_sources(s.pairs, (Recipe("linear", prior=False), Recipe("gp")))


ABLATIONS: Mapping[str, Callable[[Settings], list[Piece]]] = {
    "constraints": lambda s: constraints.compare_constraints(s.data_set, s.seeds),
    "proposals": lambda s: proposals.breed_proposals(s.seeds, s.trials),
    "simulator": lambda s: proposals.add_simulator(s.seeds, s.trials),
    "rankers": lambda s: _simulators("rankers", s),
    "features": lambda s: _simulators("features", s),
    "transfer": _transfer,
    "first-trials": lambda s: transfer.compare_first_trials(s.pairs, Recipe("gp")),
}
"""What each is called, and its pieces."""


def check_ablations(names: Sequence[str]) -> None:
    """Raise InvalidInput if there is no ablation of a name."""
    for name in names:
        if name not in ABLATIONS:
            raise InvalidInput("unknown ablation", received=name, valid=ABLATIONS)


def ablate(names: Sequence[str], settings: Settings) -> list[Comparison]:
    """Make some ablations, in this order.

    Raises
    ------
    InvalidInput
        If there is none of a name, or the data set has too few trials for one.
    MissingExtra
        If a ranker needs a package that is not installed.
    """
    check_ablations(names)
    pieces = [piece for name in dict.fromkeys(names) for piece in ABLATIONS[name](settings)]
    whole, done = sum(piece.seconds for piece in pieces), 0.0
    found = []
    for piece in pieces:
        settings.tell(piece.what, done / whole)
        found += piece.make()
        done += piece.seconds
    return found


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
                "paper's effect holds": c.holds_in_words,
            }
        )
    return pandas.DataFrame(rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
