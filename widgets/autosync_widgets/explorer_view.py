"""The controls of an Explorer, and how a state is shown in them."""

from collections.abc import Callable
from html import escape
from pathlib import Path

import ipywidgets

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError
from autosync_lab.model.spec import ModelSpec
from autosync_widgets.choices import Choices, StrategyChoice, strategy_options
from autosync_widgets.explorer_state import ExplorerState, launch_progress
from autosync_widgets.facts import cluster_facts, model_facts
from autosync_widgets.figures.step_times import draw_step_times, step_times_live
from autosync_widgets.lazy_tabs import LazyTabs
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.results_table import failure_html, notice_html, result_rows, results_html
from autosync_widgets.strategy_picker import StrategyPicker

_STYLE = Path(__file__).parent / "explorer.css"

FIGURE_DESCRIPTION = (
    "Step time of each strategy, one point per timed step, with medians and the bandwidth bound. "
    "The table below has the same numbers."
)


class ExplorerView:
    """Widgets only: what is chosen in them, and `show`, which makes them show a state.

    Parameters
    ----------
    models, clusters, strategies : Choices
    """

    def __init__(
        self,
        models: Choices[ModelSpec],
        clusters: Choices[ClusterSpec],
        strategies: Choices[StrategyChoice],
    ) -> None:
        self._models, self._clusters = models, clusters
        self._model = _picker("Model", models.options, "The model whose training step is measured.")
        self._cluster = _picker("Cluster", clusters.options, "The nodes and links that the step is measured on.")
        self._model_facts = _text("autosync-facts")
        self._cluster_facts = _text("autosync-facts")
        self._picker = StrategyPicker(strategy_options(strategies))
        self._steps = ipywidgets.IntText(
            description="Timed steps",
            tooltip="How many steps of each strategy are timed, after two that warm up.",
            style={"description_width": "initial"},
            layout={"width": "160px"},
        )
        self.launch = _button("Launch", "play", "Measure the chosen strategies, one after the other.", "primary")
        self.stop = _button("Stop", "stop", "End the running trial and drop those that wait.", "")
        self.close_cluster = _button(
            "Close cluster", "power-off", "End the worker processes. The next launch starts them again.", ""
        )
        self.clear = _button("Clear", "eraser", "Empty the figure and the table. A store keeps its trials.", "")
        self._bar = ipywidgets.FloatProgress(min=0.0, max=1.0, tooltip="How much of this launch is done.")
        self._status = _text("autosync-status")
        self._notice = _text("autosync-notices")
        self._figure = LiveFigure(draw_step_times(step_times_live(())), FIGURE_DESCRIPTION)
        self._table = _text("autosync-table")
        self._failures = ipywidgets.VBox()
        self._failure_keys: tuple[int, ...] = ()
        self._model.observe(lambda _: self._explain_model(), "value")
        self._cluster.observe(lambda _: self._explain_cluster(), "value")
        hand_made = ipywidgets.VBox(
            [
                self._picker,
                _row("autosync-controls", self._steps, self.launch, self.stop, self.close_cluster, self.clear),
                _row("autosync-progress", self._bar, self._status),
                self._notice,
                self._figure,
                self._table,
                self._failures,
            ]
        )
        hand_made.add_class("autosync-panel")
        self.tabs = LazyTabs("Hand-made", hand_made)
        self.root = ipywidgets.VBox(
            [
                ipywidgets.HTML(f"<style>{_STYLE.read_text()}</style>", layout={"display": "none"}),
                _row(
                    "autosync-pickers",
                    ipywidgets.VBox([self._model, self._model_facts]),
                    ipywidgets.VBox([self._cluster, self._cluster_facts]),
                ),
                self.tabs,
            ]
        )
        self.root.add_class("autosync-panel")

    def on_choice(self, told: Callable[[], None]) -> None:
        """Call `told` after another model or cluster was chosen."""
        for picker in (self._model, self._cluster):
            picker.observe(lambda _: told(), "value")

    def choose(self, model: str, cluster: str, strategies: tuple[str, ...], steps: int) -> None:
        """Choose these."""
        self._model.value, self._cluster.value = model, cluster
        self._picker.chosen = [o["name"] for o in self._picker.options if o["name"] in strategies]
        self._steps.value = steps
        self._explain_model()
        self._explain_cluster()

    @property
    def chosen_model(self) -> str:
        """Name of the chosen model."""
        return str(self._model.value)

    @property
    def chosen_cluster(self) -> str:
        """Name of the chosen cluster."""
        return str(self._cluster.value)

    @property
    def chosen_strategies(self) -> tuple[str, ...]:
        """Labels of the chosen strategies."""
        return tuple(self._picker.chosen)

    @property
    def chosen_steps(self) -> int:
        """Timed steps per trial."""
        return int(self._steps.value)

    def show(self, state: ExplorerState, now_s: float) -> None:
        """Make every widget show `state`; what has not changed is not sent."""
        progress = launch_progress(state, now_s)
        self._bar.value = progress.share
        self._status.value = f'<span role="status">{escape(progress.text)}</span>'
        self.launch.disabled = state.busy
        self.clear.disabled = state.busy or not state.trials
        self.stop.disabled = not state.busy or state.stopping
        self.close_cluster.disabled = state.busy or state.cluster_phase != "up"
        self._notice.value = notice_html(state.notice.text, state.notice.log) if state.notice else ""
        data = step_times_live(state.shown)
        self._figure.show(draw_step_times(data))
        self._table.value = results_html(result_rows(state.shown), data.title)
        self._show_failures(state)

    def _show_failures(self, state: ExplorerState) -> None:
        failed = {t.request.key: t for t in state.shown if t.phase == "failed"}
        if tuple(failed) == self._failure_keys:
            return
        # Earlier ones stay the widgets they are, so a log that is open stays open.
        kept = dict(zip(self._failure_keys, self._failures.children, strict=True))
        self._failures.children = [
            kept[key] if key in kept else ipywidgets.HTML(failure_html(trial)) for key, trial in failed.items()
        ]
        self._failure_keys = tuple(failed)

    def _explain_model(self) -> None:
        try:
            facts = model_facts(self._models[self.chosen_model])
        except AutoSyncLabError as error:
            facts = (str(error),)
        self._model_facts.value = _sentences(facts)

    def _explain_cluster(self) -> None:
        try:
            facts = cluster_facts(self._clusters[self.chosen_cluster])
        except AutoSyncLabError as error:
            facts = (str(error),)
        self._cluster_facts.value = _sentences(facts)


def _picker(label: str, options: tuple[str, ...], tooltip: str) -> ipywidgets.Dropdown:
    return ipywidgets.Dropdown(
        options=options,
        description=label,
        tooltip=tooltip,
        style={"description_width": "60px"},
    )


def _button(label: str, icon: str, tooltip: str, style: str) -> ipywidgets.Button:
    return ipywidgets.Button(
        description=label, icon=icon, tooltip=tooltip, button_style=style, layout={"width": "auto"}
    )


def _text(css_class: str) -> ipywidgets.HTML:
    widget = ipywidgets.HTML()
    widget.add_class(css_class)
    return widget


def _row(css_class: str, *children: ipywidgets.Widget) -> ipywidgets.Box:
    row = ipywidgets.Box(children)
    row.add_class(css_class)
    return row


def _sentences(facts: tuple[str, ...]) -> str:
    return "<br>".join(escape(fact) for fact in facts)
