"""Comparisons of all kinds."""

from autosync_lab.study.ablations import Comparison

COMPARISONS = (
    Comparison("x", "a change", "here", "speedup", True, (1.0, 1.5), (2.0, 3.0), True, "2x", "better"),
    Comparison("x", "another", "there", "speedup", True, (2.0, 3.0), (1.0, 2.0), False, "none <of it>", ""),
    Comparison("x", "a third", "there", "trials", False, (9.0, 8.0), (4.0, 3.0), False, "5 trials", "better"),
)
