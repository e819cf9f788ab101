"""Training: a model trained with a strategy, on the same engine as trials."""

from autosync_lab.runtime.training.checkpoint_folder import Checkpoint as Checkpoint
from autosync_lab.runtime.training.checkpoint_folder import newest_checkpoint as newest_checkpoint
from autosync_lab.runtime.training.checkpoint_folder import read_checkpoint as read_checkpoint
from autosync_lab.runtime.training.fitted import Fitted as Fitted
from autosync_lab.runtime.training.fitting import fit as fit
from autosync_lab.runtime.training.training_run import TrainingStep as TrainingStep
