"""`SearchPanel`: searches the fastest strategy, and shows it as it happens."""

from collections.abc import Callable
from html import escape
from pathlib import Path

import ipywidgets

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.search import ALGORITHMS
from autosync_lab.simulator import SIMULATORS, Calibration, make_simulator
from autosync_lab.space.space import StrategySpace
from autosync_lab.study.study import DEFAULT_ALGORITHM, DEFAULT_SIMULATOR, Study
from autosync_widgets.panels.given import given_cluster, given_model
from autosync_widgets.panels.panel import Panel, dropdown, heading, row, text
from autosync_widgets.panels.study_view import StudyView
from autosync_widgets.round_trip import RoundTrip
from autosync_widgets.search_request import MEASURABLE, Backend, SearchRequest, study_name
from autosync_widgets.search_thread import OpenRunner, SearchThread
from autosync_widgets.study_follower import StudyFollower
from autosync_widgets.study_state import StudyState
from autosync_widgets.turns import open_in_turns
from autosync_widgets.wording import plural

BACKENDS: dict[Backend, str] = {"measure": "Measure", "simulate": "Simulate"}
DEFAULT_TRIALS = 50

_BACKEND_WORDS = {
    "measure": "Every trial runs real training steps on worker processes of the cluster.",
    "simulate": "The cost model plays the cluster: nothing is measured, and everything shown is simulated.",
}
_ALGORITHM_WORDS = (
    "What proposes strategies. autosync lets the simulator choose from thousands, measures those, and learns; genetic "
    "varies and mixes the fastest ones so far; random draws from the space."
)


class SearchPanel(Panel):
    """Launches, steers and shows a search; the kernel stays free meanwhile.

    Baselines are measured first, then what the search proposes, then the best of both again, in turns.

    Parameters
    ----------
    model : str or ModelSpec, optional
        A catalog name, a file, or a model of your own.
    cluster : str or ClusterSpec, optional
        A preset, a file, or a cluster of your own.
    store : str or path, optional
        Where studies are kept; a study that was stopped goes on where it was, also in another kernel. None keeps
        them in memory.
    space : StrategySpace, optional
        What is searched; what the default constraints leave if None.
    backend : {"measure", "simulate"}, optional
        What is chosen at first; measuring, where model and cluster can run here, if None.
    simulator : str or path, optional
        What is chosen at first: a name, or a saved simulator's file (.npz), which the list then offers too.
    n_trials : int
        What is chosen at first.
    steps, warmup : int
        Timed steps of each trial, and steps before them.
    calibration : Calibration, optional
        Of the cluster that is simulated; typical constants if None.
    open_cluster : callable, optional
        Starts a cluster: (ClusterSpec) -> runner; `autosync_lab.open_cluster` if None.

    Raises
    ------
    InvalidInput
        If something to choose at first does not exist. Mistakes made in the widget are shown in the widget.

    Examples
    --------
    >>> SearchPanel("vgg-mini", "emulated-4", "trials.db")  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str | ModelSpec | None = None,
        cluster: str | ClusterSpec | None = None,
        store: str | Path | None = None,
        *,
        space: StrategySpace | None = None,
        backend: Backend | None = None,
        simulator: str | Path = DEFAULT_SIMULATOR,
        n_trials: int = DEFAULT_TRIALS,
        steps: int = 5,
        warmup: int = 1,
        calibration: Calibration | None = None,
        open_cluster: OpenRunner | None = None,
    ) -> None:
        # First what `close` needs, which runs even if the rest of this raises.
        self._follower: StudyFollower | None = None
        self._thread = SearchThread(
            None if store is None else Path(store),
            steps,
            warmup,
            open_cluster or open_in_turns,
            self._follow,
            self._ended,
        )
        self._model, self._cluster, self._space = given_model(model), given_cluster(cluster), space
        self._calibration = calibration
        if backend is not None and backend not in BACKENDS:
            raise InvalidInput("unknown backend", where="backend", received=backend, valid=BACKENDS)
        self._round_trip = RoundTrip()
        self._view = StudyView(lambda: self._thread.study)
        self._heading = text("autosync-facts")
        self._backend = ipywidgets.ToggleButtons(
            options=[(label, name) for name, label in BACKENDS.items()],
            value=backend or _possible(self._model, self._cluster),
            description="Backend",
            tooltips=[_BACKEND_WORDS[name] for name in BACKENDS],
            style={"button_width": "96px", "description_width": "initial"},
        )
        self._backend_words = text("autosync-why")
        self._algorithm = dropdown("Algorithm", tuple(ALGORITHMS), DEFAULT_ALGORITHM, _ALGORITHM_WORDS)
        first = str(simulator)
        if first not in SIMULATORS:
            make_simulator(first, self._model, self._cluster)  # a wrong name or a damaged file is told now
        self._simulator = dropdown(
            "Simulator",
            tuple(dict.fromkeys((*SIMULATORS, first))),
            first,
            "What predicts step times, so that few strategies need a trial.",
        )
        self._trials = ipywidgets.BoundedIntText(
            n_trials,
            min=0,
            max=10**9,
            description="Trials",
            tooltip="Proposals to measure in all; baselines and repetitions come on top.",
            style={"description_width": "initial"},
            layout={"width": "130px"},
        )
        self._lossy = ipywidgets.Checkbox(
            description="allow lossy",
            tooltip="Also search strategies that round gradients to 16 bits on the wire, which changes training.",
            indent=False,
            layout={"width": "auto"},
        )
        self._name = ipywidgets.Text(
            description="Study",
            tooltip="The study's name in the store; named by its settings if empty.",
            continuous_update=False,
            style={"description_width": "initial"},
            layout={"width": "min(100%, 640px)"},
        )
        self._start = _button("Start", "play", "Baselines first, then proposals. A study that was stopped goes on.")
        self._start.button_style = "primary"
        self._pause = _button("Pause", "pause", "Let the running trial end, and start no other one.")
        self._stop = _button("Stop", "stop", "End the search and its running trial. Start goes on from there.")
        super().__init__(
            [
                self._heading,
                row(self._backend, self._backend_words),
                row(self._algorithm, self._simulator, self._trials, self._lossy),
                row(self._name),
                row(self._start, self._pause, self._stop),
                self._view.root,
            ]
        )
        for control in (self._backend, self._algorithm, self._simulator, self._lossy):
            control.observe(lambda _: self._explain(), "value")
        self._start.on_click(lambda _: self._round_trip.then(lambda: self._said(self.start)))
        self._pause.on_click(lambda _: self.resume() if self._view.state.phase == "paused" else self.pause())
        self._stop.on_click(lambda _: self.stop())
        self._explain()
        self._show(StudyState("", self._model.name, self._cluster.name))

    @property
    def study(self) -> Study | None:
        """The newest study; None before the first start."""
        return self._thread.study

    @property
    def state(self) -> StudyState:
        """What is shown."""
        return self._view.state

    @property
    def best(self) -> Trial | None:
        """The fastest trial so far."""
        study = self._thread.study
        return None if study is None else study.best

    @property
    def view(self) -> StudyView:
        """The figures and tables."""
        return self._view

    def start(self) -> None:
        """Search with the settings that are chosen, as a click on Start does.

        Raises
        ------
        InvalidInput
            If a setting breaks a rule, or a search is running.
        """
        backend: Backend = self._backend.value
        self._thread.start(
            SearchRequest(
                self._model,
                self._cluster,
                backend,
                str(self._algorithm.value),
                str(self._simulator.value),
                int(self._trials.value),
                bool(self._lossy.value),
                self._name.value.strip() or self._name.placeholder,
                self._space,
                self._calibration,
            )
        )
        self._view.warn("")
        self._enable()

    def pause(self) -> None:
        """Let the running trial end, and start no other one until `resume`."""
        self._thread.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._thread.resume()

    def stop(self) -> None:
        """End the search and its running trial; `start` goes on from there."""
        self._thread.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the search has ended, for scripts: a notebook's reader can simply watch.

        Returns
        -------
        bool
            False if that takes longer than `timeout_s` seconds.
        """
        ended = self._thread.wait(timeout_s)
        if ended and self._follower is not None:
            self._follower.look()
        return ended

    def target(
        self,
        model: ModelSpec,
        cluster: ClusterSpec,
        space: StrategySpace | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """What the next start searches, and with which constants it simulates; a search that runs goes on as it is."""
        self._model, self._cluster, self._space, self._calibration = model, cluster, space, calibration
        self._backend.value = _possible(model, cluster)
        self._explain()

    def close(self) -> None:
        """End the search and take the widget off the page."""
        if self._follower is not None:
            self._follower.close()
        self._thread.close()
        super().close()

    def _said(self, action: Callable[[], None]) -> None:
        try:
            action()
        except AutoSyncLabError as error:
            self._view.warn(str(error))

    def _follow(self, study: Study) -> None:
        if self._follower is not None:
            self._follower.close()
        self._follower = StudyFollower(study, self._show, lambda: self._thread.progress)
        self._follower.start()

    def _ended(self, error: str, log: str) -> None:
        self._view.warn(error, log)
        if self._follower is not None:
            self._follower.look()
        self._enable()

    def _show(self, state: StudyState) -> None:
        self._view.show(state)
        self._enable()

    def _enable(self) -> None:
        busy = self._thread.busy
        paused = self._view.state.phase == "paused"
        self._start.disabled = busy
        self._pause.disabled = self._stop.disabled = not busy
        self._pause.description, self._pause.icon = ("Resume", "play") if paused else ("Pause", "pause")
        self._pause.tooltip = "Go on." if paused else "Let the running trial end, and start no other one."

    def _explain(self) -> None:
        backend: Backend = self._backend.value
        self._heading.value = heading(f"Search for {self._model.name} on {self._cluster.name}") + _space_words(
            self._space
        )
        self._backend_words.value = escape(_BACKEND_WORDS[backend])
        self._lossy.disabled = self._space is not None
        if self._space is not None:
            self._lossy.value = self._space.lossy
        algorithm, simulator = str(self._algorithm.value), str(self._simulator.value)
        self._name.placeholder = study_name(
            self._model, self._cluster, backend, algorithm, simulator, bool(self._lossy.value), self._space
        )


def _possible(model: ModelSpec, cluster: ClusterSpec) -> Backend:
    return "measure" if cluster.launcher in MEASURABLE and model.tracer is not None else "simulate"


def _space_words(space: StrategySpace | None) -> str:
    if space is None:
        return ""
    rules = ", ".join(rule.name for rule in space.constraints) or "no constraint"
    locks = f"; {plural(len(space.locks), 'variable')} locked" if space.locks else ""
    return escape(f"Only the given space is searched: {rules}{locks}.")


def _button(label: str, icon: str, tooltip: str) -> ipywidgets.Button:
    return ipywidgets.Button(description=label, icon=icon, tooltip=tooltip, layout={"width": "auto"})
