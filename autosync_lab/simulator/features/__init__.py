"""Features of encoded strategies, for simulators that learn."""

from autosync_lab.simulator.features.feature_set import FEATURE_SETS as FEATURE_SETS
from autosync_lab.simulator.features.feature_set import Encoded as Encoded
from autosync_lab.simulator.features.feature_set import FeatureSet as FeatureSet
from autosync_lab.simulator.features.feature_set import shard_feature_names as shard_feature_names
from autosync_lab.simulator.features.feature_set import strategy_feature_names as strategy_feature_names
from autosync_lab.simulator.features.predefined import PREDEFINED_FEATURES as PREDEFINED_FEATURES
from autosync_lab.simulator.features.predefined import pair_scale_s as pair_scale_s
from autosync_lab.simulator.features.raw import RAW_FEATURES as RAW_FEATURES
