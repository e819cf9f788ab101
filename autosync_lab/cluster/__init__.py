"""Clusters: nodes with their links, presets, and how fast a step can be on them at best."""

from autosync_lab.cluster.bound import bandwidth_bound as bandwidth_bound
from autosync_lab.cluster.preset import cluster_names as cluster_names
from autosync_lab.cluster.preset import load_cluster as load_cluster
from autosync_lab.cluster.spec import ClusterSpec as ClusterSpec
from autosync_lab.cluster.spec import Node as Node
from autosync_lab.cluster.yaml_file import dump_cluster as dump_cluster
