"""Data sets of measured trials: how one is collected, and the one that comes with this package."""

from autosync_lab.study.data_set.data_set import DataSet as DataSet
from autosync_lab.study.data_set.data_set import shipped_data_set as shipped_data_set
