"""The part of a panel that shows a study: progress, figures, tables, failures, downloads."""

import tempfile
from collections.abc import Callable
from html import escape
from pathlib import Path

import ipywidgets

from autosync_lab.errors import InvalidInput
from autosync_lab.study.study import Study
from autosync_widgets.download_button import BytesFile, DownloadButton, TextFile
from autosync_widgets.figure_file import figure_file, file_name
from autosync_widgets.figures.predicted_vs_measured import draw_predictions, predictions
from autosync_widgets.figures.search_progress import draw_search_progress, search_progress
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.panel import notice, row, status, text
from autosync_widgets.panels.strategy_export import StrategyExport
from autosync_widgets.results_table import notice_html
from autosync_widgets.strategy_file import ChosenStrategy
from autosync_widgets.study_state import StudyState, study_progress
from autosync_widgets.study_tables import (
    failure_html,
    failures,
    fastest_html,
    latest_html,
    left_out_sentence,
    verdict,
)

_STYLE = Path(__file__).parent / "study_view.css"

PROGRESS_DESCRIPTION = (
    "Step time of every trial, the best so far, every baseline, and the bandwidth bound. The tables below have the "
    "fastest and the latest ones."
)
PREDICTIONS_DESCRIPTION = (
    "Predicted against measured step times, both orders with a line per trial, and ranking accuracy over the search."
)


class StudyView:
    """Widgets only: `show` makes them show a state; what has not changed is not sent.

    Parameters
    ----------
    study : callable, optional
        The study that is shown, for its best strategy; returns None before there is one.

    Attributes
    ----------
    root : Widget
    state : StudyState
        What is shown.
    """

    def __init__(self, study: Callable[[], Study | None] = lambda: None) -> None:
        self._study = study
        self.state = StudyState("")
        self._bar = ipywidgets.FloatProgress(min=0.0, max=1.0, tooltip="How much of what was asked for is done.")
        self._status = text("autosync-status")
        self._notice = text("autosync-notices")
        self._found = text("autosync-found")
        self._left_out = text("autosync-why")
        self.progress = LiveFigure(draw_search_progress(search_progress(self.state)), PROGRESS_DESCRIPTION)
        self.predictions = LiveFigure(draw_predictions(predictions(self.state)), PREDICTIONS_DESCRIPTION)
        self._fastest, self._latest = text("autosync-fastest-trials"), text("autosync-latest-trials")
        self._failures = ipywidgets.VBox()
        self._failure_numbers: tuple[int, ...] = ()
        self._warning = ("", "")
        downloads = row(
            ipywidgets.Label("Download the study"),
            DownloadButton("Trials as CSV", "One row per trial: role, step time, prediction, strategy.", self._csv),
            DownloadButton(
                "Trials as Parquet", "Whole trials with strategies, for other machines and versions.", self._parquet
            ),
            DownloadButton("Figures as HTML", "The figures as a page that needs no network.", self._page),
        )
        self.root = ipywidgets.VBox(
            [
                ipywidgets.HTML(f"<style>{_STYLE.read_text()}</style>", layout={"display": "none"}),
                row(self._bar, self._status, css_class="autosync-progress"),
                self._notice,
                self._found,
                self.progress,
                self.predictions,
                row(self._fastest, self._latest, css_class="autosync-study-tables"),
                self._failures,
                self._left_out,
                StrategyExport("Download the best", self._best),
                downloads,
            ]
        )
        self.root.add_class("autosync-study-view")

    def show(self, state: StudyState) -> None:
        """Show a state."""
        self.state = state
        progress = study_progress(state)
        self._bar.value = progress.share
        self._status.value = status(progress.text)
        self._show_notice()
        self._found.value = escape(verdict(state))
        self._left_out.value = escape(left_out_sentence(state))
        self.progress.show(draw_search_progress(search_progress(state)))
        self.predictions.show(draw_predictions(predictions(state)))
        self._fastest.value, self._latest.value = fastest_html(state), latest_html(state)
        self._show_failures(state)

    def warn(self, words: str, log: str = "") -> None:
        """Say what went wrong, until there is something else to say; nothing if there are no words."""
        self._warning = (words, log)
        self._show_notice()

    def _show_notice(self) -> None:
        if self.state.trouble:
            self._notice.value = notice(f"This study cannot be read now: {self.state.trouble}")
        elif self._warning[0]:
            self._notice.value = notice_html(*self._warning)
        else:
            self._notice.value = notice(self.state.error)

    def _show_failures(self, state: StudyState) -> None:
        failed = failures(state)
        numbers = tuple(number for number, _ in failed)
        if numbers == self._failure_numbers:
            return
        # Earlier ones stay the widgets they are, so a log that is open stays open.
        kept = dict(zip(self._failure_numbers, self._failures.children, strict=True))
        self._failures.children = [kept.get(n) or ipywidgets.HTML(failure_html(n, trial)) for n, trial in failed]
        self._failure_numbers = numbers

    def _best(self) -> ChosenStrategy:
        study = self._study()
        best = None if study is None else study.best
        if study is None or best is None or best.strategy is None:
            raise InvalidInput("there is no best strategy yet: no trial has succeeded")
        return ChosenStrategy(f"best-{best.strategy_id}", best.strategy, study.model, study.cluster)

    def _csv(self) -> TextFile:
        from autosync_lab.study.frame import study_frame

        table = study_frame(self.state.records).to_csv(index=False)
        return TextFile(f"{file_name(self.state.name)}.csv", table, "text/csv")

    def _parquet(self) -> BytesFile:
        from autosync_lab.study import export_trials

        name = f"{file_name(self.state.name)}.parquet"
        with tempfile.TemporaryDirectory() as folder:
            export_trials((r.trial for r in self.state.records), Path(folder) / name)
            content = (Path(folder) / name).read_bytes()
        return BytesFile(name, content, "application/vnd.apache.parquet")

    def _page(self) -> TextFile:
        return figure_file(self.state.name, self.state.name, [self.progress.spec, self.predictions.spec])
