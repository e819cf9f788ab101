"""`Measures`: what a study measures with."""

from collections.abc import Callable
from typing import Protocol

from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import Progress
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy


class Measures(Protocol):
    """What `autosync_lab.runtime.open_cluster` returns, as far as a study uses it."""

    def measure(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        steps: int,
        warmup: int,
        label: str,
        on_progress: Callable[[Progress], None],
    ) -> Trial:
        """Measure one strategy; a failure or a cancelled trial is a `Trial` too."""

    def cancel(self) -> None:
        """Stop the running trial; called from any thread."""

    def close(self) -> None:
        """End everything that was started."""
