"""Studies and what they leave behind: trials in a file that several programs can read."""

from autosync_lab.study.store import TrialStore

__all__ = ["TrialStore"]
