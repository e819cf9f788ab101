"""Simulators: they predict step times without running. What they say is simulated, never measured."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.simulator.base import Simulator as Simulator
from autosync_lab.simulator.calibration import Calibration as Calibration
from autosync_lab.simulator.corrected import CorrectedCostModel as CorrectedCostModel
from autosync_lab.simulator.cost_model import CostModel as CostModel
from autosync_lab.simulator.timeline import Timeline as Timeline
from autosync_lab.simulator.virtual_runner import VirtualRunner as VirtualRunner

SIMULATORS = ("cost-model", "none")


def make_simulator(
    name: str, model: ModelSpec, cluster: ClusterSpec, calibration: Calibration | None = None
) -> Simulator | None:
    """The simulator called `name`, before any trial; None for "none".

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    if name == "none":
        return None
    if name != "cost-model":
        raise InvalidInput("unknown simulator", received=name, valid=SIMULATORS)
    return CorrectedCostModel(CostModel(model, cluster, calibration))
