"""`Likeness`: the share of decisions that strategies have in common."""

from dataclasses import replace

import numpy as np
import pytest

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.space import Likeness, StrategyBatch, StrategySpace
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy

MODEL = ModelSpec("m", (Variable("large", (4, 9)), Variable("small", (4,))), 1)
CLUSTER = ClusterSpec("c", tuple(Node(f"n{i}") for i in range(8)))


def _to_first(*strategies: Strategy) -> list[float]:
    likeness = Likeness(StrategyBatch.encode(strategies, MODEL, CLUSTER))
    return list(likeness.to(0))


def test_likeness_counts_decisions_by_the_root_of_bytes() -> None:
    whole = VariableStrategy("large", (ParameterServer("n0"),))
    small = VariableStrategy("small", (AllReduce(0),))
    first = Strategy((whole, small), 8)
    moved = replace(first, variables=(VariableStrategy("large", (ParameterServer("n1"),)), small))
    replicated = replace(first, variables=(VariableStrategy("large", (ParameterServer("n0", True),)), small))
    ungrouped = replace(first, variables=(whole, VariableStrategy("small", (AllReduce(),))))
    # Roots of bytes: 12 and 4, so a decision of the large variable is 3/4 of a third.
    assert _to_first(first, moved, replicated, ungrouped) == pytest.approx([1, 3 / 4, 3 / 4, 11 / 12])


def test_different_destinations_are_never_taken_for_equal() -> None:
    small = VariableStrategy("small", (AllReduce(0),))
    strategies = [
        Strategy((VariableStrategy("large", (ParameterServer(f"n{a}"), ParameterServer(f"n{b}")), 0), small), 8)
        for a in range(8)
        for b in range(8)
    ]
    likeness = Likeness(StrategyBatch.encode(strategies, MODEL, CLUSTER))
    for i in range(len(strategies)):
        assert np.flatnonzero(likeness.to(i) > 0.99).tolist() == [i]


def test_likeness_is_symmetric_and_of_oneself_1() -> None:
    batch = StrategySpace(load_model("lm-small"), load_cluster("emulated-servers"), lossy=True).sample(30)
    likeness = Likeness(batch)
    matrix = np.asarray([likeness.to(i) for i in range(30)])
    assert matrix == pytest.approx(matrix.T)
    assert np.diag(matrix) == pytest.approx(1.0)
    assert matrix.min() >= 0
    assert matrix[~np.eye(30, dtype=bool)].max() < 1
