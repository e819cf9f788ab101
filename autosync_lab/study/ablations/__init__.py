"""Ablations: what each part of the method does, on measured trials and on played clusters, and what the paper says."""

from autosync_lab.study.ablations.comparison import Comparison as Comparison
