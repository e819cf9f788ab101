"""What works on this machine and on a cluster, and how to mend what does not."""

from autosync_lab.doctor.check import Check as Check
from autosync_lab.doctor.checks import run_checks as run_checks
from autosync_lab.doctor.cluster_checks import run_cluster_checks as run_cluster_checks
