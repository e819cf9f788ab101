"""`Explorer`: choose a model and a cluster, measure strategies, search better ones, and see why they are."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.choices import cluster_choices, model_choices, strategy_choices
from autosync_widgets.explorer_panels import ExplorerPanels
from autosync_widgets.explorer_state import (
    Cleared,
    Event,
    ExplorerState,
    Launched,
    Noticed,
    StopAsked,
    TrialEnded,
    advance,
)
from autosync_widgets.explorer_view import ExplorerView
from autosync_widgets.figures.step_times import step_time_figure
from autosync_widgets.launch_plan import plan_launch
from autosync_widgets.round_trip import RoundTrip
from autosync_widgets.throttle import Throttle
from autosync_widgets.trial_queue import OpenCluster, TrialQueue
from autosync_widgets.turns import open_in_turns

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from autosync_lab.simulator import Calibration
    from autosync_lab.study import TrialStore

REDRAW_PERIOD_S = 0.5
"""Seconds between two redraws: twice a second looks live and leaves the page time for the user."""


class Explorer(ipywidgets.VBox):
    """Measure strategies for a model on a cluster, search the fastest one, and see what each does.

    The first tab measures hand-made strategies, and every step is seen to arrive. The others show the model and the
    cluster, the strategy space, a search, the timeline of a step, and what a strategy does; each is built when it is
    first opened. What is chosen in the tab of the space is what the search searches.

    Trials run in a thread of their own on worker processes, so the notebook stays free; the workers stay warm between
    launches on the same cluster, and end with the kernel at the latest.

    Parameters
    ----------
    model : str or ModelSpec, optional
        Chosen at first: a catalog name, a file, or a model of your own.
    cluster : str or ClusterSpec, optional
        Chosen at first: a preset, a file, or a cluster of your own.
    strategies : sequence of str or Strategy, or mapping of label to either, optional
        Chosen at first: names of builders, strategies of your own.
    steps : int
        Timed steps per trial.
    store : str, path or TrialStore, optional
        Every trial is written here as it ends, and so are the studies of searches.
    open_cluster : callable, optional
        Starts a cluster: (ClusterSpec) -> runner; `autosync_lab.open_cluster` if None.
    calibration : Calibration, optional
        Of the cluster chosen at first, for everything simulated; typical constants if None.

    Raises
    ------
    InvalidInput
        If something to choose at first does not exist. Mistakes made in the widget are shown in the widget.

    Examples
    --------
    >>> Explorer(model="vgg-mini", cluster="emulated-4", strategies=["ps", "all-reduce"])  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str | ModelSpec | None = None,
        cluster: str | ClusterSpec | None = None,
        strategies: Sequence[str | Strategy] | Mapping[str, str | Strategy] | None = None,
        steps: int = 10,
        *,
        store: "str | Path | TrialStore | None" = None,
        open_cluster: OpenCluster | None = None,
        calibration: "Calibration | None" = None,
    ) -> None:
        # These first: they are what `close` needs, which runs even if the rest of this raises.
        self._queue = TrialQueue(open_cluster or open_in_turns, self._on_event)
        self._redraw = Throttle(self._draw, REDRAW_PERIOD_S)
        self._panels: ExplorerPanels | None = None
        self._models, chosen_model = model_choices(model)
        self._clusters, chosen_cluster = cluster_choices(cluster)
        self._strategies, chosen_strategies = strategy_choices(strategies)
        self._store = _opened(store)
        self._state = ExplorerState()
        self._state_lock = threading.Lock()
        self._view = ExplorerView(self._models, self._clusters, self._strategies)
        self._round_trip = RoundTrip()
        self._view.choose(chosen_model, chosen_cluster, chosen_strategies, steps)
        super().__init__([self._view.root])
        self.add_class("autosync-explorer")
        self._view.launch.on_click(lambda _: self._round_trip.then(lambda: self._said(self.launch)))
        self._view.stop.on_click(lambda _: self.stop())
        self._view.close_cluster.on_click(lambda _: self._said(self.close_cluster))
        self._view.clear.on_click(lambda _: self._on_event(Cleared()))
        self._panels = ExplorerPanels(
            lambda: (self._models[self._view.chosen_model], self._clusters[self._view.chosen_cluster]),
            self._strategies,
            _path_of(self._store),
            open_cluster,
            calibration,
        )
        self._view.tabs.offer(self._panels.builders())
        self._view.on_choice(self._view.tabs.refresh)
        self._draw()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Records of all trials that have ended, in the order they were launched."""
        return tuple(t.trial for t in self._state.trials if t.trial is not None)

    @property
    def worker_pids(self) -> dict[int, int]:
        """Pid of each process of the warm pool; empty if none is up."""
        return self._queue.worker_pids

    def launch(self) -> None:
        """Measure the chosen strategies, as a click on Launch does.

        Raises
        ------
        InvalidInput
            If the choice breaks a rule, or trials are running.
        """
        if self._state.busy:
            raise InvalidInput("Trials are running: wait for them, or stop them first.")
        chosen = {name: self._strategies[name] for name in self._view.chosen_strategies}
        requests = plan_launch(
            self._models[self._view.chosen_model],
            self._clusters[self._view.chosen_cluster],
            chosen,
            self._view.chosen_steps,
            first_key=len(self._state.trials),
        )
        self._on_event(Launched(requests))
        self._queue.submit(requests)

    def stop(self) -> None:
        """End the running trial and drop those that wait; the workers stay warm."""
        self._on_event(StopAsked())
        self._queue.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until all trials have ended, for scripts: a notebook's reader can simply watch.

        Returns
        -------
        bool
            False if that takes longer than `timeout_s` seconds.
        """
        return self._queue.wait(timeout_s)

    def close_cluster(self) -> None:
        """End the worker processes; the next launch starts them again."""
        self._queue.close_cluster()

    def figure(self) -> "go.Figure":
        """Step times of the trials that are shown, as a plotly figure that stands alone."""
        return step_time_figure(t.trial for t in self._state.shown if t.trial is not None)

    def open_tab(self, title: str) -> ipywidgets.Widget:
        """Open a tab, as a click on it does.

        Returns
        -------
        Widget
            What is in it: for "Search" a `SearchPanel`, for "Timeline" a `TimelinePanel`, for "Strategy" a
            `StrategyPanel`.

        Raises
        ------
        InvalidInput
            If there is no tab of that title.
        """
        return self._view.tabs.open_tab(title)

    def close(self) -> None:
        """End the worker processes and take the widget off the page."""
        if self._panels is not None:
            self._panels.close()
        self._queue.close()
        self._redraw.close()
        super().close()

    def _said(self, action: Callable[[], None]) -> None:
        try:
            action()
        except AutoSyncLabError as error:
            self._on_event(Noticed(str(error)))

    def _on_event(self, event: Event) -> None:
        with self._state_lock:
            self._state = advance(self._state, event, time.monotonic())
        if isinstance(event, TrialEnded) and self._store is not None:
            try:
                self._store.add(event.trial)
            except AutoSyncLabError as error:
                self._on_event(Noticed(f"This trial is not in the store: {error}"))
        self._redraw.ask()

    def _draw(self) -> None:
        self._view.show(self._state, time.monotonic())


def _path_of(store: "TrialStore | None") -> Path | None:
    return None if store is None else store.path


def _opened(store: "str | Path | TrialStore | None") -> "TrialStore | None":
    if isinstance(store, str | Path):
        from autosync_lab.study import TrialStore

        return TrialStore(store)
    if store is not None and not hasattr(store, "add"):
        raise InvalidInput("a store is a path or a TrialStore", where="store", received=store)
    return store
