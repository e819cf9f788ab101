"""Progress of trials on stderr: a bar with the time left on a terminal, a line per trial anywhere."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from autosync_lab.cli.output import message_console, seconds

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from autosync_lab.runtime import Progress, Trial

_WHOLE_RUN_S = 3600.0
"""The time left is estimated from the speed over all of the run: strategies differ, so the last seconds mislead."""


class PassingBar:
    """A bar on stderr that is there while a `with` block runs, on a terminal only.

    Parameters
    ----------
    columns : ProgressColumn or str
        Of `rich.progress`, from left to right.
    """

    def __init__(self, *columns: "ProgressColumn | str") -> None:
        from rich.progress import Progress

        console = message_console()
        self._bar = Progress(
            *columns,
            console=console,
            disable=not console.is_terminal,
            transient=True,
            speed_estimate_period=_WHOLE_RUN_S,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class TrialProgress(PassingBar):
    """Shows how far a series of trials is.

    Parameters
    ----------
    trials : int
        Number of trials in all.
    steps : int
        Timed steps of each.
    """

    def __init__(self, trials: int, steps: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._trials = trials
        self._steps = steps
        self._number = 0
        self._label = ""
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("steps"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._task = self._bar.add_task("", total=trials * steps)

    def begin(self, label: str) -> None:
        """A trial begins."""
        self._number += 1
        self._label = label
        self._bar.update(self._task, description=f"{self._number}/{self._trials} {label}: start")

    def __call__(self, progress: "Progress") -> None:
        """The running trial is that far; any thread may say so."""
        newest = f" {seconds(progress.step_time_s)}" if progress.step_time_s is not None else ""
        self._bar.update(
            self._task,
            description=f"{self._number}/{self._trials} {self._label}: {progress.stage}{newest}",
            completed=(self._number - 1) * self._steps + progress.step,
        )

    def end(self, trial: "Trial") -> None:
        """The trial has ended."""
        self._bar.update(self._task, completed=self._number * self._steps)
        how = f"step time {seconds(trial.step_time_s)}" if trial.status == "ok" else f"{trial.status} ({trial.stage})"
        message_console().print(
            f"{self._number}/{self._trials} {trial.label}: {how}, {trial.total_s:.1f} s in all",
            soft_wrap=True,
        )
