"""Ablations: what each part of the method does, on measured trials and on played clusters, and what the paper says."""

from autosync_lab.study.ablations.comparison import Comparison as Comparison
from autosync_lab.study.ablations.run import ABLATIONS as ABLATIONS
from autosync_lab.study.ablations.run import Settings as Settings
from autosync_lab.study.ablations.run import ablate as ablate
from autosync_lab.study.ablations.run import ablation_frame as ablation_frame
from autosync_lab.study.ablations.run import check_ablations as check_ablations
from autosync_lab.study.ablations.summing_up import summing_up as summing_up
