"""The strategy space: what is valid, what constraints leave of it, and draws from it as encoded batches."""

from autosync_lab.space.batch import StrategyBatch as StrategyBatch
from autosync_lab.space.constraints import CONSTRAINTS as CONSTRAINTS
from autosync_lab.space.constraints import DEFAULT_CONSTRAINTS as DEFAULT_CONSTRAINTS
from autosync_lab.space.constraints import Constraint as Constraint
from autosync_lab.space.constraints import PartitionBounds as PartitionBounds
from autosync_lab.space.domain import Domain as Domain
from autosync_lab.space.report import SpaceReport as SpaceReport
from autosync_lab.space.report import SpaceSize as SpaceSize
from autosync_lab.space.similarity import Likeness as Likeness
from autosync_lab.space.space import StrategySpace as StrategySpace
