"""Simulators: they predict step times without running. What they say is simulated, never measured."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.simulator.base import Simulator as Simulator
from autosync_lab.simulator.calibration import Calibration as Calibration
from autosync_lab.simulator.corrected import CorrectedCostModel as CorrectedCostModel
from autosync_lab.simulator.cost_model import CostModel as CostModel
from autosync_lab.simulator.learned import RANKERS as RANKERS
from autosync_lab.simulator.learned import LearnedSimulator as LearnedSimulator
from autosync_lab.simulator.learned import PairTrials as PairTrials
from autosync_lab.simulator.learned import Recipe as Recipe
from autosync_lab.simulator.learned import learn as learn
from autosync_lab.simulator.learned import load_knowledge as load_knowledge
from autosync_lab.simulator.learned import save_knowledge as save_knowledge
from autosync_lab.simulator.timeline import Timeline as Timeline
from autosync_lab.simulator.virtual_runner import VirtualRunner as VirtualRunner
from autosync_lab.user_file import is_file_name

SIMULATORS = ("cost-model", *RANKERS, "none")
"""Names of simulators; in place of one, the file of a saved one may be named."""


def make_simulator(
    name: str, model: ModelSpec, cluster: ClusterSpec, calibration: Calibration | None = None
) -> Simulator | None:
    """The simulator called `name`, before any trial of this pair; None for "none".

    Parameters
    ----------
    name : str
        One of `SIMULATORS`, or the file of a saved one (.npz): it begins with what it learned elsewhere.
    model : ModelSpec
    cluster : ClusterSpec
    calibration : Calibration, optional
        The cluster's constants; typical ones if None.

    Raises
    ------
    InvalidInput
        If there is none of that name, or the file is damaged.
    MissingExtra
        If it needs a package that is not installed.
    """
    if name == "none":
        return None
    cost_model = CostModel(model, cluster, calibration)
    if name == "cost-model":
        return CorrectedCostModel(cost_model)
    if name in RANKERS:
        return LearnedSimulator(cost_model, Recipe(name))
    if not is_file_name(name, (".npz",)):
        raise InvalidInput("unknown simulator", received=name, valid=SIMULATORS)
    knowledge = load_knowledge(name)
    simulator = LearnedSimulator(cost_model, knowledge.recipe, knowledge)
    simulator.name = name
    return simulator
