"""What a run of a study does: baselines, then round after round of proposals, then the finals."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidStrategy
from autosync_lab.model.spec import ModelSpec
from autosync_lab.search.base import Observation, SearchAlgorithm
from autosync_lab.simulator.base import Simulator
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.strategy.builders import build_strategy
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study import history
from autosync_lab.study.finals import finalists, speedup, turn_order
from autosync_lab.study.history import Proposal, Round, StudyTrial
from autosync_lab.study.session import Session
from autosync_lab.study.speedup import Speedup

MOST_ASKS = 20
"""Asks in one round, after which the space is taken to be exhausted if nothing new came of them."""


@dataclass(frozen=True)
class LeftOut:
    """A baseline that is not measured, and why."""

    label: str
    why: str


def build_baselines(
    names: Sequence[str], model: ModelSpec, cluster: ClusterSpec
) -> tuple[list[tuple[str, Strategy]], list[LeftOut]]:
    """Strategies of builders; without those that have none here, or one that another builder gives too."""
    built: dict[str, tuple[str, Strategy]] = {}
    left_out: list[LeftOut] = []
    for name in names:
        try:
            strategy = build_strategy(name, model, cluster)
        except InvalidStrategy as error:
            left_out.append(LeftOut(name, str(error)))
            continue
        if strategy.id in built:
            left_out.append(LeftOut(name, f"it builds the same strategy as {built[strategy.id][0]}"))
        else:
            built[strategy.id] = (name, strategy)
    return list(built.values()), left_out


def measure_baselines(session: Session, baselines: Sequence[tuple[str, Strategy]], left_out: Sequence[LeftOut]) -> None:
    """Measure every baseline that was not measured yet."""
    told = {e.data.get("label") for e in session.store.events(session.study, kinds=("baseline-left-out",))}
    for one in left_out:
        if one.label not in told:
            session.emit("baseline-left-out", {"label": one.label, "why": one.why})
    done = {r.trial.label for r in session.records if r.role == "baseline" and r.measured}
    for label, strategy in baselines:
        if label not in done:
            session.measure(strategy, label, "baseline")


class Search:
    """Rounds of proposals: those that are stored are asked for and told again, then new ones follow.

    Parameters
    ----------
    session : Session
    algorithm : SearchAlgorithm
        A fresh one.
    label : str
        How trials of its proposals are called.
    simulator : Simulator or None
        Says what is to be expected of each proposal.
    baselines : sequence of str
        In the order in which the algorithm is told of them.
    cluster : ClusterSpec
    """

    def __init__(
        self,
        session: Session,
        algorithm: SearchAlgorithm,
        label: str,
        simulator: Simulator | None,
        baselines: Sequence[str],
        cluster: ClusterSpec,
    ) -> None:
        self._session = session
        self._algorithm = algorithm
        self._label = label
        self._simulator = simulator
        self._baselines = baselines
        self._cluster = cluster
        self._seen: set[str] = set()
        self._rounds = 0
        self._told: list[Observation] = []

    def run(self, n_trials: int, batch_size: int) -> None:
        """Measure until `n_trials` proposals are, or the space is exhausted."""
        pending = self._replay()
        while True:
            self._anchor_if_due()
            if self._measured() >= n_trials:
                return
            round_ = pending or self._propose(batch_size)
            pending = None
            if round_ is None:
                return
            if self._measure(round_, n_trials):
                self._tell(round_)

    def _replay(self) -> Round | None:
        """Bring the algorithm to where it was; the round that is not measured to its end, if there is one."""
        of = {r.trial.label: r for r in self._session.records if r.role == "baseline" and r.measured}
        known = [of[label] for label in self._baselines if label in of]
        self._seen = {r.trial.strategy.id for r in known if r.trial.strategy is not None}
        if known:
            self._learn([_observation(r.trial.strategy, r) for r in known])
        for round_ in self._session.store.rounds(self._session.study):
            again = [s for size in round_.asks for s in self._ask(size)]
            stored = [p.strategy.id for p in round_.proposals]
            if [s.id for s in again] != stored:
                self._session.emit("history-differs", {"round": round_.number})
            self._seen.update(stored)
            self._rounds = round_.number + 1
            if not all(p.strategy.id in self._session.proposals for p in round_.proposals):
                return round_
            self._tell(round_)
        return None

    def _propose(self, batch_size: int) -> Round | None:
        fresh: list[Strategy] = []
        asks: list[int] = []
        skipped = 0
        while len(fresh) < batch_size and len(asks) < MOST_ASKS:
            asks.append(batch_size - len(fresh))
            new = self._ask(asks[-1])
            skipped += asks[-1] - len(new)
            fresh += new
        if not fresh:
            self._session.emit("space-exhausted", {"round": self._rounds, "asks": asks})
            return None
        proposals = tuple(map(Proposal, fresh, self._predict(fresh)))
        round_ = Round(self._rounds, tuple(asks), proposals)
        self._session.add_round(round_, skipped)
        self._rounds += 1
        return round_

    def _ask(self, size: int) -> list[Strategy]:
        """What is new of what the algorithm proposes."""
        new = []
        for strategy in self._algorithm.ask(size)[:size]:
            if strategy.id not in self._seen:
                self._seen.add(strategy.id)
                new.append(strategy)
        return new

    def _predict(self, strategies: Sequence[Strategy]) -> list[float]:
        if self._simulator is None or not self._simulator.in_seconds:
            return [math.nan] * len(strategies)
        batch = StrategyBatch.encode(strategies, self._session.model, self._cluster)
        return [float(seconds) for seconds in self._simulator.predict(batch)]

    def _measure(self, round_: Round, n_trials: int) -> bool:
        """Measure what is left of a round; False if that would be more than `n_trials`."""
        for proposal in round_.proposals:
            if proposal.strategy.id in self._session.proposals:
                continue
            self._anchor_if_due()
            if self._measured() >= n_trials:
                return False
            self._session.measure(proposal.strategy, self._label, "proposal", round_.number, proposal.predicted_s)
        return True

    def _tell(self, round_: Round) -> None:
        records = self._session.proposals
        self._learn([_observation(p.strategy, records[p.strategy.id]) for p in round_.proposals])

    def _learn(self, observations: list[Observation]) -> None:
        self._algorithm.tell(observations)
        self._told += [o for o in observations if math.isfinite(o.step_time_s)]
        # An algorithm that has the simulator has just fitted it.
        if self._simulator is not None and self._told and not hasattr(self._algorithm, "simulator"):
            batch = StrategyBatch.encode([o.strategy for o in self._told], self._session.model, self._cluster)
            self._simulator.fit(batch, np.asarray([o.step_time_s for o in self._told]))

    def _anchor_if_due(self) -> None:
        first = history.anchor(self._session.records)
        if first is not None and first.trial.strategy is not None and history.anchor_due(self._session.records):
            self._session.measure(first.trial.strategy, first.trial.label, "anchor")

    def _measured(self) -> int:
        return len(self._session.proposals)


def measure_finals(session: Session, repeats: int, seed: int) -> Speedup | None:
    """Measure the best strategies and baselines again, in turns; None if there are none to compare.

    What an interrupted call has measured is not measured again.
    """
    contenders = finalists(session.records)
    if not contenders:
        return None
    number = session.store.count_events(session.study, "confirmed")
    done = Counter(r.trial.strategy_id for r in _finals(session, number) if r.ok)
    for turn in range(repeats):
        for index in turn_order(len(contenders), seed, number, turn):
            finalist = contenders[index]
            if done[finalist.strategy.id] <= turn:
                session.measure(finalist.strategy, finalist.label, "final", number)
    result = speedup(contenders, _finals(session, number), seed)
    if result is not None:
        last = session.records[-1].number
        session.emit("confirmed", {"speedup": result.to_json(), "number": last})
    return result


def _finals(session: Session, confirm: int) -> list[StudyTrial]:
    return [r for r in session.records if r.role == "final" and r.round == confirm]


def _observation(strategy: Strategy | None, record: StudyTrial) -> Observation:
    assert strategy is not None
    return Observation(strategy, record.trial.step_time_s if record.ok else math.nan)
