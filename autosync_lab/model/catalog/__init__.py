"""Models by name. Their variables come from data files, so that no TensorFlow is needed to look at them."""

from autosync_lab.model.catalog.card import CATALOG as CATALOG
from autosync_lab.model.catalog.card import ModelCard as ModelCard
from autosync_lab.model.catalog.card import model_card as model_card
from autosync_lab.model.catalog.card import model_names as model_names
from autosync_lab.model.catalog.load import capture_catalog_model as capture_catalog_model
from autosync_lab.model.catalog.load import load_bench as load_bench
from autosync_lab.model.catalog.load import load_model as load_model
