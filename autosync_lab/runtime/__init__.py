"""Measuring and training: real distributed TensorFlow steps on the nodes of a cluster."""

from autosync_lab.runtime.runner import Profile as Profile
from autosync_lab.runtime.runner import Progress as Progress
from autosync_lab.runtime.runner import Runner as Runner
from autosync_lab.runtime.runner import open_cluster as open_cluster
from autosync_lab.runtime.training import Fitted as Fitted
from autosync_lab.runtime.training import TrainingStep as TrainingStep
from autosync_lab.runtime.training import fit as fit
from autosync_lab.runtime.trial import Event as Event
from autosync_lab.runtime.trial import Trial as Trial
