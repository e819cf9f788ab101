"""`StrategyPanel`: what a strategy does, and how it differs from another one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import ipywidgets

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders import build_strategy
from autosync_lab.strategy.spec import Strategy
from autosync_lab.strategy.validate import validate_strategy
from autosync_widgets.choices import StrategyChoice, strategy_choices, strategy_options
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.figure_file import figure_file
from autosync_widgets.figures.strategy_diff import (
    ASPECTS,
    StrategyDiff,
    VariableDiff,
    diff_sentence,
    draw_strategy_diff,
    strategy_diff,
)
from autosync_widgets.figures.traffic_matrix import draw_traffic, traffic_figure, traffic_sentence
from autosync_widgets.figures.variable_plans import VariablePlan, variable_plans
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.given import given_cluster, given_model
from autosync_widgets.panels.panel import Panel, dropdown, heading, notice, row, text
from autosync_widgets.panels.strategy_export import StrategyExport
from autosync_widgets.strategy_facts import StrategyFacts, strategy_facts, strategy_facts_html
from autosync_widgets.strategy_file import ChosenStrategy
from autosync_widgets.throttle import Throttle
from autosync_widgets.variable_table import Cell, Column, Row, VariableTable
from autosync_widgets.wording import bytes_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from autosync_lab.simulator import Calibration

NOBODY = "(no other)"
SIMULATE_PERIOD_S = 0.1

_SIZE = Column("size", "Bytes of the whole variable.", number=True)
_WORDS = (
    Column("partition", "Into how many shards it is cut, and on which axis."),
    Column("synchronizer", "Whether its shards are on parameter servers or all-reduced."),
    Column("destination", "The nodes whose servers own its shards."),
    Column("group", "Shards with one group number travel as one collective; none: Horovod fuses as it likes."),
    Column("wire", "What its gradient is encoded with on the wire."),
)
_BYTES = Column("over links", "Bytes that cross links for it in one step, all nodes together.", number=True)
_MORE = Column("difference", "Bytes over links that the second strategy takes more.", number=True)


class StrategyPanel(Panel):
    """What a strategy does: traffic from node to node, a table of variables, and the difference to another strategy.

    Parameters
    ----------
    model : str or ModelSpec, optional
        A catalog name, a file, or a model of your own.
    cluster : str or ClusterSpec, optional
        A preset, a file, or a cluster of your own.
    strategies : sequence of str or Strategy, or mapping of label to either, optional
        The first one is shown, and compared with the second one if there is one. All builders can be chosen, too.
    calibration : Calibration, optional
        Of the cluster, for the simulated step time; typical constants if None.

    Raises
    ------
    InvalidInput
        If something does not exist, or a strategy is not valid for the model on the cluster.

    Examples
    --------
    >>> StrategyPanel("vgg-mini", "emulated-4", ["ps", "all-reduce"])  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str | ModelSpec | None = None,
        cluster: str | ClusterSpec | None = None,
        strategies: Sequence[StrategyChoice] | Mapping[str, StrategyChoice] | None = None,
        *,
        calibration: "Calibration | None" = None,
    ) -> None:
        # First what `close` needs, which runs even if the rest of this raises.
        self._simulate = Throttle(self._show_simulated, SIMULATE_PERIOD_S)
        self._model, self._cluster, self._calibration = given_model(model), given_cluster(cluster), calibration
        self._choices, chosen = strategy_choices(strategies)
        for label in chosen:
            self._strategy(label)
        first = chosen[0] if chosen else self._choices.options[0]
        self._sentences = {o.name: o.sentence for o in strategy_options(self._choices)}
        self._first = dropdown("Strategy", self._choices.options, first, "The strategy to look at.")
        self._second = dropdown(
            "compare with",
            (NOBODY, *self._choices.options),
            chosen[1] if len(chosen) > 1 else NOBODY,
            "Another strategy: shown beside the first one, and what differs between them.",
        )
        self._only = ipywidgets.Checkbox(
            description="only what differs",
            tooltip="Leave out variables that both strategies treat alike.",
            indent=False,
            layout={"width": "auto"},
        )
        page = DownloadButton("Figures as HTML", "Download the figures as a page of its own.", self._page)
        self._export = StrategyExport("Download the first", self._chosen, (page,))
        self._facts = text("autosync-facts")
        self._notice = text("autosync-notices")
        self._table_of_facts = text("autosync-facts")
        self._traffic = LiveFigure(draw_traffic([]), "Bytes from node to node.")
        self._diff_text = text("autosync-facts")
        self._diff = LiveFigure({"data": [], "layout": {}}, "Variables whose bytes differ most between two strategies.")
        self._table = VariableTable("What the strategy does with each variable", ())
        self._shown: dict[str, Strategy] = {}
        self._shown_facts: tuple[StrategyFacts, ...] = ()
        self._shown_diff: StrategyDiff | None = None
        super().__init__(
            [
                self._facts,
                row(self._first, self._second),
                self._export,
                self._notice,
                self._table_of_facts,
                self._traffic,
                self._diff_text,
                self._diff,
                self._only,
                self._table,
            ]
        )
        for choice in (self._first, self._second):
            choice.observe(lambda _: self._show(), "value")
        self._only.observe(lambda _: self._show_table(), "value")
        self._show()

    @property
    def strategy(self) -> Strategy:
        """The first strategy that is chosen."""
        return self._strategy(str(self._first.value))

    def choose(self, first: str, second: str | None = None) -> None:
        """Show a strategy, and compare it with a second one, as the dropdowns do.

        Raises
        ------
        InvalidInput
            If there is no strategy of that name.
        """
        for name in (first, second):
            if name is not None and name not in self._choices.options:
                raise InvalidInput("unknown strategy", received=name, valid=self._choices.options)
        self._first.value, self._second.value = first, second or NOBODY

    def figure(self) -> "go.Figure":
        """The traffic that is shown, as a plotly figure that stands alone."""
        return traffic_figure(self._model, self._cluster, self._shown)

    def close(self) -> None:
        """Take the widget off the page."""
        self._simulate.close()
        super().close()

    def _strategy(self, name: str) -> Strategy:
        choice = self._choices[name]
        if isinstance(choice, Strategy):
            validate_strategy(choice, self._model, self._cluster)
            return choice
        return build_strategy(choice, self._model, self._cluster)

    def _show(self) -> None:
        self._export.forget()
        names = dict.fromkeys(str(n) for n in (self._first.value, self._second.value) if n != NOBODY)
        try:
            self._shown = {name: self._strategy(name) for name in names}
        except AutoSyncLabError as error:
            self._notice.value = notice(str(error))
            return
        self._notice.value = ""
        model, cluster = self._model, self._cluster
        self._shown_facts = tuple(strategy_facts(model, cluster, s, name) for name, s in self._shown.items())
        matrices = [f.traffic for f in self._shown_facts]
        self._traffic.show(draw_traffic(matrices))
        self._traffic.description = " ".join(map(traffic_sentence, matrices))
        self._facts.value = heading(f"Strategies for {model.name} on {cluster.name}") + "<br>".join(
            f"<b>{escape(n)}</b>: {escape(self._sentences[n])}" for n in names
        )
        self._table_of_facts.value = strategy_facts_html(self._shown_facts)
        self._show_diff()
        self._show_table()
        self._simulate.ask()

    def _show_diff(self) -> None:
        two = len(self._shown) == 2
        pair = list(self._shown.items())
        self._shown_diff = strategy_diff(self._model, self._cluster, pair[0], pair[1]) if two else None
        bytes_differ = self._shown_diff is not None and any(abs(r.more_nbytes) >= 1 for r in self._shown_diff.rows)
        for widget, useful in ((self._diff_text, two), (self._diff, bytes_differ), (self._only, two)):
            widget.layout.display = None if useful else "none"
        if self._shown_diff is not None:
            self._diff_text.value = f"<h3>What differs</h3>{escape(diff_sentence(self._shown_diff))}"
            self._diff.show(draw_strategy_diff(self._shown_diff))

    def _show_table(self) -> None:
        if self._shown_diff is None:
            plans = variable_plans(self._model, self._cluster, self.strategy)
            self._table.show([_plan_row(p) for p in plans], (_SIZE, _BYTES, *_WORDS))
            return
        rows = self._shown_diff.changed if self._only.value else self._shown_diff.rows
        self._table.show([_diff_row(r) for r in rows], (_SIZE, _BYTES, _MORE, *_WORDS))

    def _show_simulated(self) -> None:
        from autosync_lab.simulator import CostModel
        from autosync_lab.space.batch import StrategyBatch

        facts = self._shown_facts
        batch = StrategyBatch.encode([f.strategy for f in facts], self._model, self._cluster)
        times = CostModel(self._model, self._cluster, self._calibration).step_time(batch).tolist()
        if facts is self._shown_facts:
            simulated = [replace(f, simulated_s=t) for f, t in zip(facts, times, strict=True)]
            self._table_of_facts.value = strategy_facts_html(simulated)

    def _chosen(self) -> ChosenStrategy:
        return ChosenStrategy(str(self._first.value), self.strategy, self._model, self._cluster)

    def _page(self) -> TextFile:
        name = f"{'-'.join(self._shown)}-{self._model.name}-{self._cluster.name}"
        specs = [self._traffic.spec] + ([self._diff.spec] if self._diff.layout.display is None else [])
        return figure_file(name, f"{' and '.join(self._shown)}: {self._model.name} on {self._cluster.name}", specs)


def _plan_row(plan: VariablePlan) -> Row:
    words = [Cell(getattr(plan, aspect) or "—") for aspect in ASPECTS]
    return Row(plan.variable, (_size(plan), _bytes(plan.link_nbytes), *words))


def _diff_row(diff: VariableDiff) -> Row:
    words = []
    for aspect in ASPECTS:
        before, after = getattr(diff.first, aspect) or "—", getattr(diff.second, aspect) or "—"
        differs = aspect in diff.differs
        words.append(Cell(f"{before} → {after}" if differs else before, strong=differs))
    more = diff.more_nbytes
    difference = Cell(f"{'+' if more > 0 else '-'}{bytes_text(abs(more))}" if abs(more) >= 1 else "0", key=more)
    return Row(diff.first.variable, (_size(diff.first), _bytes(diff.first.link_nbytes), difference, *words))


def _size(plan: VariablePlan) -> Cell:
    return Cell(bytes_text(plan.nbytes), key=float(plan.nbytes))


def _bytes(nbytes: float) -> Cell:
    return Cell(bytes_text(nbytes), key=nbytes)
