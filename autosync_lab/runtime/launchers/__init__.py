"""Launchers: how the processes of a cluster are started. All start the same worker."""

from autosync_lab.runtime.launchers.base import Launcher as Launcher
from autosync_lab.runtime.launchers.base import WorkerProcess as WorkerProcess
