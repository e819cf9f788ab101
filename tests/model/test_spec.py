import json
import math
from typing import Any

import pytest

from autosync_lab import InvalidInput, ModelSpec, Variable


def spec(**changes: Any) -> ModelSpec:
    variables = (
        Variable("table", (10, 4), sparse=True, touched_rows=3.5, ready=0.9),
        Variable("w", (4, 2), dtype="float64", ready=0.5),
        Variable("b", ()),
    )
    return ModelSpec(
        **({"name": "m", "variables": variables, "batch_size": 8, "flops": 5.0, "notes": ("n",)} | changes)
    )


def test_sizes() -> None:
    model = spec()
    assert model.parameters == 49
    assert model.nbytes == 160 + 64 + 4
    assert model.variables[0].gradient_nbytes == 3.5 * 16
    assert model.variables[2].row_nbytes == 4


def test_json_round_trip() -> None:
    model = spec()
    assert ModelSpec.from_json(json.loads(json.dumps(model.to_json()))) == model


def test_the_hash_is_that_of_what_a_strategy_depends_on() -> None:
    model = spec()
    assert model.with_profile(2.0, [1.0, 1.0, 1.0]).hash == model.hash
    assert spec(name="other", notes=()).hash == model.hash
    assert spec(batch_size=9).hash != model.hash
    assert spec(variables=model.variables[::-1]).hash != model.hash


def test_a_profile_replaces_the_estimate() -> None:
    measured = spec().with_profile(0.5, [0.25, 0.0, 0.6])
    assert measured.compute_s == 0.5
    assert [v.ready for v in measured.variables] == [0.5, 1e-6, 1.0]
    assert spec().compute_s is None


@pytest.mark.parametrize(
    ("compute_s", "ready_s"),
    [(0.0, [1, 1, 1]), (math.inf, [1, 1, 1]), (1.0, [1, 1]), (1.0, [1, -1, 1]), (1.0, [1, math.nan, 1])],
)
def test_a_wrong_profile_is_refused(compute_s: float, ready_s: list[float]) -> None:
    with pytest.raises(InvalidInput):
        spec().with_profile(compute_s, ready_s)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variables": ()}, "at least one trainable variable"),
        ({"batch_size": 0}, "at least one example"),
        ({"variables": (Variable("a", ()), Variable("a", ()))}, "two variables have one name"),
    ],
)
def test_wrong_models_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        spec(**changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "", "shape": ()}, "needs a name"),
        ({"shape": (3, 0)}, "every dimension is at least 1"),
        ({"shape": (2**30, 2**30)}, "at most"),
        ({"shape": (3,), "dtype": "float3"}, "did you mean 'float32'"),
        ({"shape": (3,), "ready": 0.0}, "share of the compute time"),
        ({"shape": (3,), "ready": math.nan}, "share of the compute time"),
        ({"shape": (), "sparse": True, "touched_rows": 1.0}, "at least one axis"),
        ({"shape": (3,), "sparse": True}, "touches between 0"),
        ({"shape": (3,), "sparse": True, "touched_rows": 4.0}, "touches between 0"),
        ({"shape": (3,), "touched_rows": 1.0}, "only a sparse variable"),
    ],
)
def test_wrong_variables_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Variable(**({"name": "v"} | fields))


def test_a_model_known_by_its_variables_only_cannot_be_run() -> None:
    with pytest.raises(InvalidInput, match="known by its variables only"):
        _ = spec().traced
