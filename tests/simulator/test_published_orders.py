"""Orders of step times that others have published hold in both fidelities; `tests/data/published` has the sources."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autosync_lab.cluster import ClusterSpec, Node
from autosync_lab.model import ModelSpec, load_model
from autosync_lab.simulator import Calibration
from autosync_lab.strategy import build_strategy
from tests.simulator.cases import exact_s, fast_s

HOROVOD, AUTODIST = json.loads((Path(__file__).parents[1] / "data/published/step_times.json").read_text())["tables"]

StepTime = Callable[[str], float]


@pytest.fixture(params=[exact_s, fast_s], ids=["timeline", "fast"])
def fidelity(request: pytest.FixtureRequest) -> Callable[..., float]:
    """One of the two."""
    return request.param  # type: ignore[no-any-return]


def step_time(fidelity: Callable[..., float], of: ModelSpec, nodes: int, gbps: float) -> StepTime:
    """Step time of a builder's strategy on nodes of 4 GPUs."""
    members = [Node(f"node{i}", 4, gbps, gbps, gpus=(0, 1, 2, 3)) for i in range(nodes)]
    on = ClusterSpec("published", tuple(members), "virtual")
    return lambda builder: fidelity(of, on, build_strategy(builder, of, on), Calibration())


def published(name: str, gpus: int) -> dict[str, float]:
    """Examples per second by builder."""
    return dict(zip(AUTODIST["order"], AUTODIST["rows"][name][str(gpus)], strict=True))


@pytest.mark.parametrize("gpus", [16, 32])
def test_bert_large_is_fastest_with_partitioned_parameter_servers(gpus: int, fidelity: Callable[..., float]) -> None:
    rates = published("bert-large", gpus)
    assert max(rates, key=rates.__getitem__) == "partitioned-ps"
    step_s = step_time(fidelity, load_model("bert-large"), gpus // 4, AUTODIST["link_gbps"])
    times = {name: step_s(name) for name in rates}
    assert min(times, key=times.__getitem__) == "partitioned-ps"
    assert max(times, key=times.__getitem__) == "ps" == min(rates, key=rates.__getitem__)


@pytest.mark.parametrize("builder", ["ps", "ps-load-balanced"])
@pytest.mark.parametrize("gpus", [16, 32])
def test_vgg16_is_far_faster_with_horovod_than_with_whole_variables_on_servers(
    gpus: int, builder: str, fidelity: Callable[..., float]
) -> None:
    rates = published("vgg16", gpus)
    assert rates["horovod"] > 1.5 * rates[builder]
    step_s = step_time(fidelity, load_model("vgg16"), gpus // 4, AUTODIST["link_gbps"])
    assert step_s(builder) > 1.5 * step_s("horovod")


@pytest.mark.parametrize("builder", ["ps", "ps-load-balanced"])
@pytest.mark.parametrize("name", ["inceptionv3", "resnet101", "vgg16"])
def test_horovod_beats_whole_variables_on_servers(name: str, builder: str, fidelity: Callable[..., float]) -> None:
    rows = HOROVOD["rows"]
    assert rows["horovod"][name] > max(rows["ps"][name], rows["ps, variables on the CPU"][name])
    compute_s = HOROVOD["batch_per_gpu"] / HOROVOD["single_gpu"][name]
    of = replace(load_model(name), compute_s=compute_s)
    step_s = step_time(fidelity, of, HOROVOD["nodes"], HOROVOD["link_gbps"])
    assert step_s(builder) > step_s("horovod") >= compute_s
