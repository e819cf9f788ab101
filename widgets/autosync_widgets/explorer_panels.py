"""The panels in the tabs of an Explorer, and what they tell each other."""

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.choices import Choices, StrategyChoice
from autosync_widgets.lazy_tabs import TabBuilder

if TYPE_CHECKING:
    from autosync_lab.simulator import Calibration
    from autosync_lab.space.space import StrategySpace
    from autosync_widgets.panels.search_panel import SearchPanel
    from autosync_widgets.panels.space_panel import SpacePanel

BEST_FOUND = "best found"


class ExplorerPanels:
    """Makes the panels of the model and the cluster that are chosen.

    The search searches the space that the tab of the space shows, once something was changed there; the timeline and
    the strategy tabs offer the best strategy that the search found.

    Parameters
    ----------
    chosen : callable
        The model and the cluster that are chosen now.
    strategies : Choices
        Builders and the user's own strategies.
    store : Path or None
        Where studies are kept.
    open_cluster : callable or None
        Starts a cluster; as usual if None.
    calibration : Calibration or None
        Of the cluster that was chosen at first.
    """

    def __init__(
        self,
        chosen: Callable[[], tuple[ModelSpec, ClusterSpec]],
        strategies: Choices[StrategyChoice],
        store: Path | None,
        open_cluster: Callable[[ClusterSpec], Any] | None,
        calibration: "Calibration | None",
    ) -> None:
        self._chosen = chosen
        self._strategies = strategies
        self._store = store
        self._open_cluster = open_cluster
        self._calibration, self._calibrated = calibration, chosen()[1].hash
        self._search: SearchPanel | None = None
        self._space: SpacePanel | None = None
        self._whole_space: StrategySpace | None = None
        self._open: dict[str, list[ipywidgets.Widget]] = {}

    def builders(self) -> Mapping[str, TabBuilder]:
        """How each tab is made, by its title."""
        return {
            "Model & cluster": TabBuilder(self._pair, self._make_views),
            "Space": TabBuilder(self._pair, self._make_space),
            "Search": TabBuilder(self._pair_and_space, self._make_search),
            "Timeline": TabBuilder(self._pair_and_best, self._make_timeline),
            "Strategy": TabBuilder(self._pair_and_best, self._make_strategy),
        }

    def close(self) -> None:
        """End everything that was started."""
        for widgets in self._open.values():
            for widget in widgets:
                widget.close()
        self._open.clear()

    def _pair(self) -> Hashable:
        model, cluster = self._chosen()
        return model.hash, cluster.hash

    def _pair_and_space(self) -> Hashable:
        return self._pair(), id(self._changed_space())

    def _pair_and_best(self) -> Hashable:
        best = self._best()
        return self._pair(), None if best is None else best.id

    def _changed_space(self) -> "StrategySpace | None":
        """The space that is shown, if it is not the one that a search has anyway."""
        panel = self._space
        if panel is None or panel.space is self._whole_space or panel.space is None:
            return None
        space: StrategySpace = panel.space
        model, cluster = self._chosen()
        same = (space.model.hash, space.cluster.hash) == (model.hash, cluster.hash)
        return space if same else None

    def _best(self) -> Strategy | None:
        search = self._search
        best = None if search is None else search.best
        model, cluster = self._chosen()
        if best is None or (best.model_hash, best.cluster_hash) != (model.hash, cluster.hash):
            return None
        return best.strategy

    def _make_views(self) -> ipywidgets.Widget:
        from autosync_widgets.panels.cluster_view import ClusterView
        from autosync_widgets.panels.model_view import ModelView

        model, cluster = self._chosen()
        return self._keep("views", ModelView(model), ClusterView(cluster))

    def _make_space(self) -> ipywidgets.Widget:
        import traitlets

        from autosync_widgets.panels.funnel_panel import FunnelPanel
        from autosync_widgets.panels.space_panel import SpacePanel

        model, cluster = self._chosen()
        funnel = FunnelPanel(model, cluster)
        self._space = SpacePanel(space=funnel.space)
        self._whole_space = funnel.space
        traitlets.link((funnel, "space"), (self._space, "space"))
        return self._keep("space", funnel, self._space)

    def _make_search(self) -> ipywidgets.Widget:
        from autosync_widgets.panels.search_panel import SearchPanel

        model, cluster = self._chosen()
        space = self._changed_space()
        if self._search is None:
            self._search = SearchPanel(
                model,
                cluster,
                self._store,
                space=space,
                calibration=self._calibration_of(cluster),
                open_cluster=self._open_cluster,
            )
            return self._keep("search", self._search)
        # A search that runs goes on, whatever is chosen meanwhile.
        self._search.target(model, cluster, space, self._calibration_of(cluster))
        return self._search

    def _make_timeline(self) -> ipywidgets.Widget:
        from autosync_widgets.panels.timeline_panel import TimelinePanel

        model, cluster = self._chosen()
        return self._keep(
            "timeline",
            TimelinePanel(
                model,
                cluster,
                self._fitting(),
                calibration=self._calibration_of(cluster),
                open_cluster=self._open_cluster,
            ),
        )

    def _make_strategy(self) -> ipywidgets.Widget:
        from autosync_widgets.panels.strategy_panel import StrategyPanel

        model, cluster = self._chosen()
        return self._keep(
            "strategy", StrategyPanel(model, cluster, self._fitting(), calibration=self._calibration_of(cluster))
        )

    def _fitting(self) -> dict[str, StrategyChoice]:
        """The best strategy found, and the user's own ones that are valid here."""
        from autosync_lab.strategy import validate_strategy

        best = self._best()
        found: dict[str, StrategyChoice] = {} if best is None else {BEST_FOUND: best}
        for name, choice in self._strategies.own.items():
            try:
                if isinstance(choice, Strategy):
                    validate_strategy(choice, *self._chosen())
            except InvalidInput:
                continue
            found[name] = choice
        return found

    def _calibration_of(self, cluster: ClusterSpec) -> "Calibration | None":
        return self._calibration if cluster.hash == self._calibrated else None

    def _keep(self, tab: str, *widgets: ipywidgets.Widget) -> ipywidgets.Widget:
        """Remember what has to be closed, and close what was there before."""
        before, self._open[tab] = self._open.get(tab, []), list(widgets)
        for widget in before:
            widget.close()
        return widgets[0] if len(widgets) == 1 else ipywidgets.VBox(widgets)
