"""AutoSync Lab: find, explain and run gradient-synchronization strategies for data-parallel training.

Names are imported on first use, so `import autosync_lab` is quick and needs no TensorFlow.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from autosync_lab.cluster import ClusterSpec as ClusterSpec
    from autosync_lab.cluster import Node as Node
    from autosync_lab.cluster import bandwidth_bound as bandwidth_bound
    from autosync_lab.cluster import load_cluster as load_cluster
    from autosync_lab.errors import AutoSyncLabError as AutoSyncLabError
    from autosync_lab.errors import InvalidInput as InvalidInput
    from autosync_lab.model import ModelSpec as ModelSpec
    from autosync_lab.model import Variable as Variable
    from autosync_lab.model import load_model as load_model
    from autosync_lab.runtime import Fitted as Fitted
    from autosync_lab.runtime import Trial as Trial
    from autosync_lab.runtime import fit as fit
    from autosync_lab.runtime import open_cluster as open_cluster
    from autosync_lab.simulator import Calibration as Calibration
    from autosync_lab.simulator import CostModel as CostModel
    from autosync_lab.space import Constraint as Constraint
    from autosync_lab.space import StrategyBatch as StrategyBatch
    from autosync_lab.space import StrategySpace as StrategySpace
    from autosync_lab.strategy import AllReduce as AllReduce
    from autosync_lab.strategy import ParameterServer as ParameterServer
    from autosync_lab.strategy import Strategy as Strategy
    from autosync_lab.strategy import VariableStrategy as VariableStrategy
    from autosync_lab.strategy import build_strategy as build_strategy
    from autosync_lab.study import Study as Study
    from autosync_lab.study import TrialStore as TrialStore

_HOME = {
    "AutoSyncLabError": "errors",
    "InvalidInput": "errors",
    "ModelSpec": "model",
    "Variable": "model",
    "load_model": "model",
    "ClusterSpec": "cluster",
    "Node": "cluster",
    "bandwidth_bound": "cluster",
    "load_cluster": "cluster",
    "AllReduce": "strategy",
    "ParameterServer": "strategy",
    "Strategy": "strategy",
    "VariableStrategy": "strategy",
    "build_strategy": "strategy",
    "Fitted": "runtime",
    "Trial": "runtime",
    "fit": "runtime",
    "open_cluster": "runtime",
    "Constraint": "space",
    "StrategyBatch": "space",
    "StrategySpace": "space",
    "Calibration": "simulator",
    "CostModel": "simulator",
    "Study": "study",
    "TrialStore": "study",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"autosync_lab.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'autosync_lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
