"""`AblationView`: what changes do, next to what the paper reports."""

import math
from collections.abc import Sequence
from html import escape

from autosync_lab.study.ablations import Comparison, summing_up
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.figure_file import figure_file
from autosync_widgets.figures.ablation_effects import ablation_effects, draw_ablation_effects
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.panel import Panel, row, status, text

DESCRIPTION = "What each change adds to a metric, with its 95 percent interval."

HOW_TO = (
    "Small dots are samples (pairs of model and cluster, or seeds), the large marker is their mean, and whiskers are "
    "its 95 % interval. A triangle is a clear effect, up for better and down for worse; an open circle may be chance."
)

_COLUMNS = (
    ("Change", "What was tried with and without.", False),
    ("Where", "Model and cluster, or what it was tried on.", False),
    ("Metric", "What was compared.", False),
    ("Without", "Mean without the change.", True),
    ("With", "Mean with it.", True),
    ("Adds", "Mean of the differences and its 95 % interval, from pairs of samples.", True),
    ("Here", "better or worse only if the interval leaves no doubt.", False),
    ("The paper", "What Zhang et al., NeurIPS 2020, report.", False),
    ("Holds", "Whether the effect that the paper leads one to expect shows here.", False),
)


class AblationView(Panel):
    """Figure, table and words of some comparisons.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Of `autosync_lab.study.ablations.ablate`.
    meaning : str
        A paragraph of your own, what they mean.

    Examples
    --------
    >>> AblationView(ablate(["proposals"], Settings(shipped_data_set())))  # doctest: +SKIP
    """

    def __init__(self, comparisons: Sequence[Comparison], meaning: str = "") -> None:
        self._spec = draw_ablation_effects(ablation_effects(comparisons))
        self._title = ", ".join(dict.fromkeys(c.ablation for c in comparisons))
        download = DownloadButton("Figure as HTML", "Download this figure as a page of its own.", self._file)
        words = status(f"{meaning} {summing_up(comparisons)}".strip())
        super().__init__(
            [
                text("autosync-facts", f"{words}<br>{escape(HOW_TO)}"),
                LiveFigure(self._spec, DESCRIPTION),
                row(download),
                text("autosync-facts", comparisons_html(comparisons)),
            ]
        )

    def _file(self) -> TextFile:
        return figure_file(f"ablations-{self._title}", f"Ablations: {self._title}", [self._spec])


def comparisons_html(comparisons: Sequence[Comparison]) -> str:
    """A table of comparisons; empty without any."""
    if not comparisons:
        return ""
    side = [' class="autosync-number"' if number else "" for _, _, number in _COLUMNS]
    head = "".join(
        f'<th scope="col" title="{escape(why)}"{s}>{escape(name)}</th>'
        for (name, why, _), s in zip(_COLUMNS, side, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(f'<td{s}>{escape(cell)}</td>' for cell, s in zip(_cells(c), side, strict=True))}</tr>"
        for c in comparisons
    )
    return (
        '<table class="autosync-facts-table"><caption>What each change does</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cells(c: Comparison) -> tuple[str, ...]:
    mean, low, high = c.difference
    interval = "" if math.isnan(low) else f" ({low:+.3f} to {high:+.3f})"
    return (
        c.change,
        f"{c.where}{', simulated' if c.simulated else ''}",
        c.metric,
        _mean(c.without),
        _mean(c.with_it),
        "—" if math.isnan(mean) else f"{mean:+.3f}{interval}",
        c.verdict,
        c.paper,
        c.holds_in_words or "—",
    )


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "—"
