"""`ClusterView`: a cluster's nodes and links."""

from html import escape
from typing import TYPE_CHECKING

from autosync_lab.cluster.spec import ClusterSpec
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.facts import cluster_facts
from autosync_widgets.figure_file import figure_file
from autosync_widgets.figures.topology import draw_topology, topology, topology_figure
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.given import given_cluster
from autosync_widgets.panels.panel import Panel, heading, row, text

if TYPE_CHECKING:
    import plotly.graph_objects as go


class ClusterView(Panel):
    """A picture of a cluster: nodes with their replicas, servers, and the bandwidth of every link.

    Parameters
    ----------
    cluster : str or ClusterSpec, optional
        A preset, a file, or a cluster of your own.

    Raises
    ------
    InvalidInput
        If there is no such cluster.

    Examples
    --------
    >>> ClusterView("emulated-servers")  # doctest: +SKIP
    """

    def __init__(self, cluster: str | ClusterSpec | None = None) -> None:
        self._cluster = given_cluster(cluster)
        name, facts = self._cluster.name, cluster_facts(self._cluster)
        self._figure = LiveFigure(draw_topology(topology(self._cluster)), f"Topology of {name}. {' '.join(facts)}")
        download = DownloadButton("Figure as HTML", "Download this figure as a page of its own.", self._file)
        super().__init__(
            [
                text("autosync-facts", heading(name) + "<br>".join(map(escape, facts))),
                row(download),
                self._figure,
            ]
        )

    @property
    def cluster(self) -> ClusterSpec:
        """The cluster."""
        return self._cluster

    def figure(self) -> "go.Figure":
        """What is shown, as a plotly figure that stands alone."""
        return topology_figure(self._cluster)

    def _file(self) -> TextFile:
        return figure_file(self._cluster.name, f"Topology of {self._cluster.name}", [self._figure.spec])
