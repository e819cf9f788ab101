"""AutoDist's strategy files: read and written, without AutoDist and without TensorFlow."""

from autosync_lab.strategy.autodist.layout import LAYOUTS as LAYOUTS
from autosync_lab.strategy.autodist.read import AutoDistStrategy as AutoDistStrategy
from autosync_lab.strategy.autodist.read import parse_autodist_strategy as parse_autodist_strategy
from autosync_lab.strategy.autodist.read import read_autodist_strategy as read_autodist_strategy
from autosync_lab.strategy.autodist.write import dump_autodist_strategy as dump_autodist_strategy
