"""`FunnelPanel`: how many strategies each constraint leaves, with constraints to switch."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import ipywidgets
import traitlets

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.constraints import CONSTRAINTS, DEFAULT_CONSTRAINTS, Constraint
from autosync_lab.space.constraints.load_balance import LoadBalance, LoadBalanceSoftmax
from autosync_lab.space.space import StrategySpace
from autosync_widgets.constraint_words import rule_text
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.figure_file import figure_file
from autosync_widgets.figures.pruning_funnel import (
    PruningFunnel,
    draw_pruning_funnel,
    left_text,
    pruning_funnel,
    pruning_funnel_figure,
)
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.allowed_space import allowed_space
from autosync_widgets.panels.given import given_space
from autosync_widgets.panels.panel import Panel, button, heading, notice, row, status, text
from autosync_widgets.throttle import Throttle

if TYPE_CHECKING:
    import plotly.graph_objects as go

COUNT_PERIOD_S = 0.05
"""Seconds between two counts of the space, which switches may ask for faster than counting is."""

HOW_TO = (
    "Each bar is what is left after the constraints above it, so what one prunes depends on those before. "
    "Switch a constraint to see what it does. A striped bar is an estimate, with its 95 percent interval."
)


class FunnelPanel(Panel):
    """The pruning funnel of a strategy space.

    Parameters
    ----------
    model : str or ModelSpec, optional
        A catalog name, a file, or a model of your own.
    cluster : str or ClusterSpec, optional
        A preset, a file, or a cluster of your own.
    space : StrategySpace, optional
        In place of both; else the space has the constraints of a search. Its own constraints can be switched, too.

    Attributes
    ----------
    space : StrategySpace
        What is shown now. It can be set, and linked with that of another panel:
        `traitlets.link((funnel, "space"), (panel, "space"))`.

    Raises
    ------
    InvalidInput
        If something does not exist. Constraints that leave no strategy are explained in the panel.

    Examples
    --------
    >>> FunnelPanel("ncf-small", "emulated-hetero-4")  # doctest: +SKIP
    """

    space = traitlets.Instance(StrategySpace, allow_none=True)

    def __init__(
        self,
        model: str | ModelSpec | None = None,
        cluster: str | ClusterSpec | None = None,
        *,
        space: StrategySpace | None = None,
    ) -> None:
        # First what `close` needs, which runs even if the rest of this raises.
        self._count = Throttle(self._show_report, COUNT_PERIOD_S)
        shown = given_space(model, cluster, space)
        own = {c.name: c for c in shown.constraints}
        self._offered: dict[str, Constraint] = {name: make() for name, make in CONSTRAINTS.items()} | own
        self._known: dict[tuple[str, ...], StrategySpace] = {}
        self._following = False
        self._data = PruningFunnel("", ())
        self._status = text("autosync-facts")
        self._notice = text("autosync-notices")
        self._switches = {name: _switch(rule) for name, rule in self._offered.items()}
        for name, switch in self._switches.items():
            switch.observe(lambda _, name=name: self._switched(name), "value")
        self._lossy = _semantics(
            "lossy compressors", "Allow gradients that lose bits on the wire: training results change a little."
        )
        self._asynchronous = _semantics(
            "asynchronous strategies", "Allow servers that apply every push as it comes: training results change."
        )
        for switch in (self._lossy, self._asynchronous):
            switch.observe(lambda _: self._allowed(), "value")
        everything = button("All", "Switch all constraints on, but for one of the two load balancers.")
        everything.on_click(lambda _: self._choose([n for n in self._offered if n != LoadBalanceSoftmax.name]))
        nothing = button("None", "Switch all constraints off.")
        nothing.on_click(lambda _: self._choose([]))
        search = button("As a search", "The constraints that a search prunes by unless it is told otherwise.")
        search.on_click(lambda _: self._choose(DEFAULT_CONSTRAINTS))
        self._figure = LiveFigure(draw_pruning_funnel(self._data), "Number of strategies left after each constraint.")
        download = DownloadButton("Funnel as HTML", "Download this figure as a page of its own.", self._file)
        rules = [w for name, rule in self._offered.items() for w in (self._switches[name], _words(rule))]
        super().__init__(
            [
                self._status,
                row(ipywidgets.Label("Constraints"), everything, nothing, search, download),
                row(ipywidgets.Label("Also allow"), self._lossy, self._asynchronous),
                self._notice,
                row(self._figure, row(*rules, css_class="autosync-rules"), css_class="autosync-two"),
            ]
        )
        self.observe(lambda _: self._show(), "space")
        self.space = shown

    def figure(self) -> "go.Figure":
        """The funnel, as a plotly figure that stands alone."""
        return pruning_funnel_figure(self.space)

    def close(self) -> None:
        """Take the widget off the page."""
        self._count.close()
        super().close()

    def _switched(self, name: str) -> None:
        if self._following:
            return
        chosen = [n for n, switch in self._switches.items() if switch.value]
        balancers = {LoadBalance.name, LoadBalanceSoftmax.name}
        if name in balancers and balancers <= set(chosen):
            # There is one load balancer: the other one gives way.
            chosen = [n for n in chosen if n == name or n not in balancers]
        self._choose(chosen)

    def _allowed(self) -> None:
        if self._following:
            return
        try:
            self.space = allowed_space(self.space, lossy=self._lossy.value, asynchronous=self._asynchronous.value)
        except AutoSyncLabError as error:
            self._follow()
            self._notice.value = notice(f"Not switched: {error}")

    def _choose(self, names: Sequence[str]) -> None:
        wanted = tuple(n for n in self._offered if n in names)
        try:
            self.space = self._constrained(wanted)
        except AutoSyncLabError as error:
            self._follow()
            self._notice.value = notice(f"Not switched: {error}")

    def _constrained(self, names: tuple[str, ...]) -> StrategySpace:
        """The space under these constraints; what was counted before is not counted again."""
        now = self.space
        if any(
            (k.locks, k.lossy, k.asynchronous) != (now.locks, now.lossy, now.asynchronous) for k in self._known.values()
        ):
            self._known.clear()
        if names not in self._known:
            bare = now.without(*(c.name for c in now.constraints))
            self._known[names] = bare.constrain([self._offered[n] for n in names])
        return self._known[names]

    def _show(self) -> None:
        self._notice.value = ""
        self._follow()
        self._say("Counting ...")
        self._count.ask()

    def _follow(self) -> None:
        """Set the switches as the space is."""
        now = {c.name for c in self.space.constraints}
        self._following = True
        for name, switch in self._switches.items():
            switch.value = name in now
        self._lossy.value, self._asynchronous.value = self.space.lossy, self.space.asynchronous
        self._following = False

    def _show_report(self) -> None:
        space = self.space
        report = space.report()
        if space is not self.space:
            return
        self._data = pruning_funnel(report, f"{space.model.name} on {space.cluster.name}")
        self._figure.show(draw_pruning_funnel(self._data))
        self._say(left_text(report))

    def _say(self, size: str) -> None:
        space = self.space
        self._status.value = (
            heading(f"Pruning funnel of {space.model.name} on {space.cluster.name}")
            + status(size)
            + f"<br>{escape(HOW_TO)}"
        )

    def _file(self) -> TextFile:
        title = self._data.title
        return figure_file(f"funnel-{title}", f"Pruning funnel of {title}", [self._figure.spec])


def _switch(rule: Constraint) -> ipywidgets.Checkbox:
    return ipywidgets.Checkbox(description=rule.name, tooltip=f"{rule_text(rule)} {rule.reason}", indent=False)


def _semantics(label: str, tooltip: str) -> ipywidgets.Checkbox:
    return ipywidgets.Checkbox(description=label, tooltip=tooltip, indent=False, layout={"width": "auto"})


def _words(rule: Constraint) -> ipywidgets.HTML:
    why = f'<span class="autosync-why">Why: {escape(rule.reason)}</span>'
    return text("autosync-rule", f"{escape(rule_text(rule))} {why}")
