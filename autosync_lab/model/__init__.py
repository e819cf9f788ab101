"""Models as synchronization sees them, captured from Keras or a function, or from the catalog."""

from autosync_lab.model.catalog import load_model as load_model
from autosync_lab.model.catalog import model_card as model_card
from autosync_lab.model.catalog import model_names as model_names
from autosync_lab.model.spec import ModelSpec as ModelSpec
from autosync_lab.model.traced import TracedModel as TracedModel
from autosync_lab.model.variable import Variable as Variable
