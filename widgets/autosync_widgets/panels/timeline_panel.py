"""`TimelinePanel`: one step of a strategy as bars in time, predicted above measured."""

import math
import threading
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, ClusterUnavailable, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Event, Trial
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.choices import StrategyChoice, strategy_choices
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.figure_file import figure_file
from autosync_widgets.figures.timeline import (
    MOST_WORKERS,
    StepLanes,
    TimelineData,
    draw_timeline,
    step_lanes,
    timeline_figure,
    workers_of,
)
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.given import given_cluster, given_model
from autosync_widgets.panels.panel import Panel, button, dropdown, heading, row, status, text
from autosync_widgets.results_table import notice_html
from autosync_widgets.search_request import MEASURABLE
from autosync_widgets.throttle import Throttle
from autosync_widgets.turns import open_in_turns
from autosync_widgets.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    import plotly.graph_objects as go

    from autosync_lab.simulator import Calibration

ALL_WORKERS = "all"
SIMULATE_PERIOD_S = 0.2
TRACED_STEPS = 3
"""Steps that are timed before the one that is traced: tracing itself costs time."""

HOW_TO = "Each bar is some work, from when it starts to when it ends; point at one to read what it is. Drag to zoom in."
DESCRIPTION = "One training step of each worker: computing, pushes, pulls, all-reduces, updates, as bars in time."


class Traces(Protocol):
    """What measures a step with its timeline: the runner that `autosync_lab.open_cluster` returns."""

    def measure(
        self, model: ModelSpec, strategy: Strategy, *, steps: int, warmup: int, label: str, trace: bool
    ) -> Trial:
        """Measure a strategy, and record the events of one step."""

    def close(self) -> None:
        """End everything that was started."""


class TimelinePanel(Panel):
    """A Gantt chart of one step: what each worker computes, pushes, pulls and all-reduces, and when.

    The predicted step is there at once; Measure runs the strategy on the cluster and puts a measured step below.

    Parameters
    ----------
    model : str or ModelSpec, optional
        A catalog name, a file, or a model of your own.
    cluster : str or ClusterSpec, optional
        A preset, a file, or a cluster of your own.
    strategies : sequence of str or Strategy, or mapping of label to either, optional
        The first one is shown; all builders can be chosen, too.
    trials : sequence of Trial, optional
        Of this model on this cluster: their strategies can be chosen by their labels, with their measured steps if they
        have any (see `trace` of `Runner.measure`).
    calibration : Calibration, optional
        Of the cluster, for the predicted step; typical constants if None.
    open_cluster : callable, optional
        Starts a cluster: (ClusterSpec) -> runner; `autosync_lab.open_cluster` if None.

    Raises
    ------
    InvalidInput
        If something does not exist, or a trial is of another model or cluster. Mistakes made in the widget are shown in
        the widget.

    Examples
    --------
    >>> TimelinePanel("vgg-mini", "emulated-4", ["partitioned-ps"])  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str | ModelSpec | None = None,
        cluster: str | ClusterSpec | None = None,
        strategies: Sequence[StrategyChoice] | Mapping[str, StrategyChoice] | None = None,
        *,
        trials: Iterable[Trial] = (),
        calibration: "Calibration | None" = None,
        open_cluster: "Callable[[ClusterSpec], Traces] | None" = None,
    ) -> None:
        # First what `close` needs, which runs even if the rest of this raises.
        self._redraw = Throttle(self._draw, SIMULATE_PERIOD_S)
        self._model, self._cluster, self._calibration = given_model(model), given_cluster(cluster), calibration
        self._open_cluster = open_cluster or open_in_turns
        own, self._measured = _of_trials(trials, self._model, self._cluster)
        if strategies is not None and not isinstance(strategies, Mapping):
            strategies = dict(_labelled(strategies))
        self._choices, chosen = strategy_choices({**(strategies or {}), **own})
        self._predicted: dict[str, tuple[float, tuple[Event, ...]]] = {}
        self._thread: threading.Thread | None = None
        self._data = TimelineData("", ())
        self._strategy = dropdown(
            "Strategy", self._choices.options, (chosen or self._choices.options)[0], "The strategy whose step is shown."
        )
        self._workers = dropdown("Workers", (ALL_WORKERS,), ALL_WORKERS, "Show one worker only, or all of them.")
        self._measure = button("Measure", "Run this strategy on the cluster and record one step.")
        self._measure.disabled = self._cluster.launcher not in MEASURABLE or self._model.tracer is None
        self._status = text("autosync-status")
        self._notice = text("autosync-notices")
        self._figure = LiveFigure(draw_timeline(self._data), DESCRIPTION)
        super().__init__(
            [
                text("autosync-facts", heading(f"Timeline of {self._model.name} on {self._cluster.name}") + HOW_TO),
                row(
                    self._strategy,
                    self._workers,
                    self._measure,
                    DownloadButton("Timeline as HTML", "Download this figure as a page of its own.", self._page),
                    self._status,
                ),
                self._notice,
                self._figure,
            ]
        )
        if self._measure.disabled:
            self._status.value = status("This model on this cluster can only be simulated here.")
        self._strategy.observe(lambda _: self._redraw.ask(), "value")
        self._workers.observe(lambda _: self._redraw.ask(), "value")
        self._measure.on_click(lambda _: self.measure())
        self._redraw.ask()

    @property
    def busy(self) -> bool:
        """True while a strategy is measured."""
        return self._thread is not None and self._thread.is_alive()

    def choose(self, strategy: str) -> None:
        """Show a strategy, as the dropdown does.

        Raises
        ------
        InvalidInput
            If there is none of that name.
        """
        if strategy not in self._choices.options:
            raise InvalidInput("unknown strategy", received=strategy, valid=self._choices.options)
        self._strategy.value = strategy

    def measure(self) -> None:
        """Measure the chosen strategy in a thread, and show one of its steps; no effect while one is measured."""
        if self.busy:
            return
        self._measure.disabled = True
        self._notice.value = ""
        self._thread = threading.Thread(
            target=self._trace, args=(str(self._strategy.value),), daemon=True, name="autosync-trace"
        )
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the measurement has ended; False if that takes longer than `timeout_s` seconds."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return not self.busy

    def figure(self) -> "go.Figure":
        """What is shown, as a plotly figure that stands alone."""
        return timeline_figure(self._data)

    def close(self) -> None:
        """Take the widget off the page."""
        self._redraw.close()
        super().close()

    def _built(self, name: str) -> Strategy:
        from autosync_lab.strategy import build_strategy

        choice = self._choices[name]
        return choice if isinstance(choice, Strategy) else build_strategy(choice, self._model, self._cluster)

    def _trace(self, name: str) -> None:
        words = "", ""
        try:
            strategy = self._built(name)
            self._status.value = status("Starting the cluster and measuring …")
            with closing(self._open_cluster(self._cluster)) as runner:
                trial = runner.measure(self._model, strategy, steps=TRACED_STEPS, warmup=1, label=name, trace=True)
            if trial.status == "ok":
                self._measured[name] = trial
            else:
                words = f"{name} {trial.status} in stage {trial.stage}: {trial.error}", trial.stderr_tail
        except ClusterUnavailable as error:
            words = str(error).splitlines()[0], error.stderr_tail
        except AutoSyncLabError as error:
            words = str(error), ""
        except Exception as error:
            words = f"{type(error).__name__}: {error}", traceback.format_exc()
        self._status.value = status("Measured." if words == ("", "") else "")
        self._notice.value = notice_html(*words)
        self._measure.disabled = False
        self._redraw.ask()

    def _draw(self) -> None:
        name = str(self._strategy.value)
        try:
            predicted_s, predicted = self._prediction(name)
        except AutoSyncLabError as error:
            self._notice.value = notice_html(str(error), "")
            return
        measured = self._measured.get(name)
        events = measured.events if measured is not None else ()
        workers = workers_of((*predicted, *events))
        self._offer_workers(workers)
        chosen = None if self._workers.value == ALL_WORKERS else [str(self._workers.value)]
        steps: list[StepLanes] = [step_lanes("predicted (simulated)", predicted, predicted_s, chosen)]
        if measured is not None and events:
            origin = "simulated" if measured.simulated else "measured"
            steps.append(step_lanes(origin, events, measured.step_time_s, chosen))
        self._data = TimelineData(f"{name}: {self._model.name} on {self._cluster.name}", tuple(steps))
        self._figure.show(draw_timeline(self._data))

    def _prediction(self, name: str) -> tuple[float, tuple[Event, ...]]:
        from autosync_lab.simulator import CostModel

        if name not in self._predicted:
            timeline = CostModel(self._model, self._cluster, self._calibration).timeline(self._built(name))
            self._predicted[name] = timeline.step_time_s, timeline.events
        return self._predicted[name]

    def _offer_workers(self, workers: Sequence[str]) -> None:
        first = ALL_WORKERS if len(workers) <= MOST_WORKERS else f"the first {plural(MOST_WORKERS, 'worker')}"
        options = [(first, ALL_WORKERS), *((w, w) for w in workers)]
        if list(self._workers.options) != options:
            kept = self._workers.value if self._workers.value in workers else ALL_WORKERS
            self._workers.options = options
            self._workers.value = kept

    def _page(self) -> TextFile:
        return figure_file(f"timeline-{self._data.title}", self._data.title, [self._figure.spec])


def _labelled(strategies: Sequence[StrategyChoice]) -> Iterable[tuple[str, StrategyChoice]]:
    if isinstance(strategies, str | Strategy):
        strategies = [strategies]
    return ((s.id if isinstance(s, Strategy) else s, s) for s in strategies)


def _of_trials(
    trials: Iterable[Trial], model: ModelSpec, cluster: ClusterSpec
) -> tuple[dict[str, Strategy], dict[str, Trial]]:
    """Strategies of trials by label, and those trials that have a step to show."""
    own: dict[str, Strategy] = {}
    measured: dict[str, Trial] = {}
    for trial in trials:
        if (trial.model_hash, trial.cluster_hash) != (model.hash, cluster.hash):
            raise InvalidInput(
                "this trial is of another model or cluster",
                where="trials",
                received=f"{trial.model} on {trial.cluster}",
            )
        if trial.strategy is None:
            continue
        name = trial.label
        if own.get(name, trial.strategy) != trial.strategy:
            name = f"{trial.label} {trial.strategy.id}"
        own[name] = trial.strategy
        if trial.events and not math.isnan(trial.step_time_s):
            measured[name] = trial
    return own, measured
