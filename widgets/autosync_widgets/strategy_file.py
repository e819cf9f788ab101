"""Strategies as files that other programs read: pure, one function per form."""

import re
from dataclasses import dataclass

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.autodist import dump_autodist_strategy
from autosync_lab.strategy.horovod_script import horovod_script
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.download_button import BytesFile, TextFile
from autosync_widgets.figure_file import file_name


@dataclass(frozen=True)
class ChosenStrategy:
    """A strategy, what it is called, and what it is for."""

    label: str
    strategy: Strategy
    model: ModelSpec
    cluster: ClusterSpec

    @property
    def name(self) -> str:
        """What its files are called, without an ending."""
        return f"{self.label}-{self.model.name}-{self.cluster.name}"


def json_file(chosen: ChosenStrategy) -> TextFile:
    """The native form."""
    return TextFile(f"{file_name(chosen.name)}.json", chosen.strategy.dumps() + "\n", "application/json")


def autodist_file(chosen: ChosenStrategy) -> BytesFile:
    """AutoDist's protobuf message.

    Raises
    ------
    InvalidStrategy
        If AutoDist cannot say it.
    """
    content = dump_autodist_strategy(chosen.strategy, chosen.model, chosen.cluster)
    return BytesFile(f"{file_name(chosen.name)}.pb", content, "application/x-protobuf")


def horovod_file(chosen: ChosenStrategy) -> TextFile:
    """A Python module for Keras and Horovod, called so that a program can import it.

    Raises
    ------
    InvalidStrategy
        If Horovod cannot do it.
    """
    module = re.sub(r"[^A-Za-z0-9]+", "_", f"synchronize {chosen.name}").strip("_").lower()
    return TextFile(f"{module}.py", horovod_script(chosen.strategy, module), "text/x-python")
