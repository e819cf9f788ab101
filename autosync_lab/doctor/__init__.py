"""What works on this machine, and how to mend what does not."""

from autosync_lab.doctor.check import Check as Check
from autosync_lab.doctor.checks import run_checks as run_checks
