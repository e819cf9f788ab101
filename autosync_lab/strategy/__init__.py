"""Strategies: how each shard of each variable is synchronized, and the hand-made ones to compare with."""

from autosync_lab.strategy.autodist import dump_autodist_strategy as dump_autodist_strategy
from autosync_lab.strategy.autodist import read_autodist_strategy as read_autodist_strategy
from autosync_lab.strategy.builders import StrategyBuilder as StrategyBuilder
from autosync_lab.strategy.builders import build_strategy as build_strategy
from autosync_lab.strategy.builders import builder_card as builder_card
from autosync_lab.strategy.builders import builder_names as builder_names
from autosync_lab.strategy.horovod_script import horovod_script as horovod_script
from autosync_lab.strategy.shards import shard_gradient_nbytes as shard_gradient_nbytes
from autosync_lab.strategy.shards import shard_lengths as shard_lengths
from autosync_lab.strategy.shards import shard_offsets as shard_offsets
from autosync_lab.strategy.shards import shard_shapes as shard_shapes
from autosync_lab.strategy.spec import COMPRESSORS as COMPRESSORS
from autosync_lab.strategy.spec import AllReduce as AllReduce
from autosync_lab.strategy.spec import ParameterServer as ParameterServer
from autosync_lab.strategy.spec import Strategy as Strategy
from autosync_lab.strategy.spec import Synchronizer as Synchronizer
from autosync_lab.strategy.spec import VariableStrategy as VariableStrategy
from autosync_lab.strategy.strategy_file import read_strategy as read_strategy
from autosync_lab.strategy.traffic import link_time_s as link_time_s
from autosync_lab.strategy.traffic import node_traffic as node_traffic
from autosync_lab.strategy.traffic import traffic_matrix as traffic_matrix
from autosync_lab.strategy.validate import validate_strategy as validate_strategy
