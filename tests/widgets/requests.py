"""Trials to ask for: a small model on two nodes."""

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy
from autosync_widgets.trial_request import TrialRequest
from tests.study.trial_factory import ALL_REDUCE, make_trial

MODEL = ModelSpec("tiny", (Variable("dense/kernel", (4, 3)),), batch_size=8)
CLUSTER = ClusterSpec("pair", (Node("n0"), Node("n1")))
FP16 = Strategy((VariableStrategy("dense/kernel", (AllReduce(compressor="fp16"),)),), replicas=2)


def request(
    key: int = 0,
    label: str = "all-reduce",
    strategy: Strategy = ALL_REDUCE,
    steps: int = 4,
    bound_s: float = 0.2,
    cluster: ClusterSpec = CLUSTER,
) -> TrialRequest:
    return TrialRequest(key, label, MODEL, cluster, strategy, steps, bound_s)


def record(of: TrialRequest, *times_s: float, **changes: object) -> Trial:
    """The record of a trial with these step times."""
    fields = {
        "label": of.label,
        "strategy": of.strategy,
        "model": of.model.name,
        "cluster": of.cluster.name,
        "step_times_s": tuple((t, 0.0) for t in times_s),
        "steps": of.steps,
        "bound_s": of.bound_s,
        "events": (),
    }
    return make_trial(f"trial-{of.key}", **(fields | changes))
