"""Progress of training on stderr: a bar with the time left, on a terminal only."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from autosync_lab.runtime.training.training_run import TrainingStep


class TrainingBar:
    """Shows how far training is.

    Parameters
    ----------
    steps : int
        Steps in all.
    """

    def __init__(self, steps: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as TimeLeft

        console = Console(stderr=True, highlight=False, force_jupyter=False)
        columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("steps"), TimeElapsedColumn())
        words = TextColumn("{task.description}", markup=False)
        self._bar = Progress(
            *columns, TextColumn("left"), TimeLeft(), words, console=console, disable=not console.is_terminal
        )
        self._task = self._bar.add_task("", total=steps)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, step: "TrainingStep") -> None:
        """A step is done."""
        description = f"loss {step.loss:.4g}, {step.step_time_s:.3g} s a step"
        self._bar.update(self._task, completed=step.step, description=description)
