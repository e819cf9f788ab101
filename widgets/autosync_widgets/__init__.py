"""Widgets and figures for JupyterLab."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autosync_widgets.explorer import Explorer as Explorer
    from autosync_widgets.figures.ablation_effects import ablation_figure as ablation_figure
    from autosync_widgets.figures.model_sizes import model_sizes_figure as model_sizes_figure
    from autosync_widgets.figures.predicted_vs_measured import (
        predicted_vs_measured_figure as predicted_vs_measured_figure,
    )
    from autosync_widgets.figures.pruning_funnel import pruning_funnel_figure as pruning_funnel_figure
    from autosync_widgets.figures.ranking_curves import ranking_curves_figure as ranking_curves_figure
    from autosync_widgets.figures.search_progress import search_progress_figure as search_progress_figure
    from autosync_widgets.figures.space_grid import space_grid_figure as space_grid_figure
    from autosync_widgets.figures.step_times import step_time_figure as step_time_figure
    from autosync_widgets.figures.strategy_diff import strategy_diff_figure as strategy_diff_figure
    from autosync_widgets.figures.topology import topology_figure as topology_figure
    from autosync_widgets.figures.traffic_matrix import traffic_figure as traffic_figure
    from autosync_widgets.live_figure import LiveFigure as LiveFigure
    from autosync_widgets.panels.ablation_view import AblationView as AblationView
    from autosync_widgets.panels.cluster_view import ClusterView as ClusterView
    from autosync_widgets.panels.funnel_panel import FunnelPanel as FunnelPanel
    from autosync_widgets.panels.guess_first import GuessFirst as GuessFirst
    from autosync_widgets.panels.model_view import ModelView as ModelView
    from autosync_widgets.panels.search_panel import SearchPanel as SearchPanel
    from autosync_widgets.panels.space_panel import SpacePanel as SpacePanel
    from autosync_widgets.panels.strategy_panel import StrategyPanel as StrategyPanel
    from autosync_widgets.panels.study_figures import PredictedVsMeasured as PredictedVsMeasured
    from autosync_widgets.panels.study_figures import SearchProgress as SearchProgress
    from autosync_widgets.panels.study_panel import StudyPanel as StudyPanel
    from autosync_widgets.panels.timeline_panel import TimelinePanel as TimelinePanel

_HOME = {
    "AblationView": "panels.ablation_view",
    "ClusterView": "panels.cluster_view",
    "FunnelPanel": "panels.funnel_panel",
    "GuessFirst": "panels.guess_first",
    "ModelView": "panels.model_view",
    "PredictedVsMeasured": "panels.study_figures",
    "SearchPanel": "panels.search_panel",
    "SearchProgress": "panels.study_figures",
    "SpacePanel": "panels.space_panel",
    "StrategyPanel": "panels.strategy_panel",
    "StudyPanel": "panels.study_panel",
    "TimelinePanel": "panels.timeline_panel",
    "ablation_figure": "figures.ablation_effects",
    "predicted_vs_measured_figure": "figures.predicted_vs_measured",
    "search_progress_figure": "figures.search_progress",
    "model_sizes_figure": "figures.model_sizes",
    "topology_figure": "figures.topology",
    "space_grid_figure": "figures.space_grid",
    "pruning_funnel_figure": "figures.pruning_funnel",
    "ranking_curves_figure": "figures.ranking_curves",
    "traffic_figure": "figures.traffic_matrix",
    "strategy_diff_figure": "figures.strategy_diff",
    "Explorer": "explorer",
    "LiveFigure": "live_figure",
    "step_time_figure": "figures.step_times",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"autosync_widgets.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'autosync_widgets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
