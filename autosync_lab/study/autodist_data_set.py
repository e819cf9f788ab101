"""Trials of other people: data sets of AutoDist's strategies and their runtimes, as that of the AutoSync paper.

A trial that comes from there has the launcher "autodist", and its `versions` name its origin; nothing here measured it.
What a file does not say is unknown in the trial too: NaN, or an empty text. Its `created` is the time of its strategy.

AutoDist's HorovodCompressor is taken for what it is called, fp16. In AutoDist's code it casts to float32, so trials of
float32 variables with it were measured without compression.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from autosync_lab.cluster.bound import bandwidth_bound
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.cluster.yaml_file import MAX_FILE_BYTES, parse_cluster
from autosync_lab.content_hash import content_hash
from autosync_lab.errors import InvalidCluster, InvalidInput
from autosync_lab.model.autodist_graph_item import AutoDistGraphItem, read_graph_item
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.autodist.read import read_autodist_strategy
from autosync_lab.strategy.spec import AllReduce, Strategy, Synchronizer
from autosync_lab.strategy.validate import validate_strategy
from autosync_lab.study.autodist_layout import LeftOut, Sample
from autosync_lab.user_file import read_text_file

LAUNCHER = "autodist"
ORIGIN = "AutoDist data set"

MOST_SECONDS = 1e9
"""No step takes that long; a file that says so is damaged."""


class Batch(NamedTuple):
    """What one replica processes in one step.

    Parameters
    ----------
    size : int
        Examples.
    lookups : int
        Rows that one example looks up in each embedding.
    """

    size: int
    lookups: int


BATCHES = {
    "ncf": Batch(256, 1),
    "bert": Batch(32, 128),
    "vgg": Batch(32, 1),
    "resnet": Batch(32, 1),
    "densenet": Batch(32, 1),
    "inception": Batch(32, 1),
}
"""The paper's batches, by how a model's name begins."""


class InvalidSample(InvalidInput):
    """A file of a sample cannot be read, or does not fit the others.

    Parameters
    ----------
    path : Path
    why : str
    """

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__(why, where=str(path))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidSample(path, str(error).removeprefix(f"{path}: ")) from None


class SampleReader:
    """Reads samples; keeps the models and clusters that it has read.

    Parameters
    ----------
    batch_size : int, optional
        Examples per replica and step; the paper's (`BATCHES`) if None.
    lookups : int, optional
        Rows that one example looks up in each embedding; the paper's, or 1, if None.
    """

    def __init__(self, batch_size: int | None = None, lookups: int | None = None) -> None:
        self.models: dict[str, ModelSpec] = {}
        """Models by name."""
        self.clusters: dict[str, ClusterSpec] = {}
        """Clusters by name. A folder's second and further resource specs that differ get a number."""
        self._batch_size = batch_size
        self._lookups = lookups
        self._items: dict[Path, AutoDistGraphItem | InvalidInput] = {}
        self._parsed: dict[tuple[str, str, tuple[str, ...]], ClusterSpec] = {}
        self._bounds: dict[tuple[str, str, bool], float] = {}

    def read_all(self, samples: tuple[Sample, ...], now: datetime) -> Iterator[Trial | LeftOut | None]:
        """Each sample's trial, or why it is left out; None if that was said before, of a file that samples share."""
        said: set[LeftOut] = set()
        for sample in samples:
            try:
                yield self.read(sample, now)
            except InvalidSample as error:
                left_out = LeftOut(str(error.path), error.why)
                yield None if left_out in said else left_out
                said.add(left_out)

    def read(self, sample: Sample, now: datetime) -> Trial:
        """The trial of a sample.

        Parameters
        ----------
        sample : Sample
        now : datetime
            The trial's time where neither its strategy nor its name tells one.

        Raises
        ------
        InvalidSample
            Naming the file that is wrong.
        """
        with _reading(sample.graph_item):
            item = self._item(sample.graph_item)
            model = self._model(sample, item)
        with _reading(sample.strategy):
            said = read_autodist_strategy(sample.strategy)
        with _reading(sample.resource_spec):
            cluster = self._cluster(sample, said.replica_nodes)
        with _reading(sample.strategy):
            strategy = _fitted(said.strategy, item, model, cluster)
        with _reading(sample.runtime):
            times = read_runtime(sample.runtime)
        created = _time_of(said.id) or _time_of(sample.name) or now
        origin = f"{sample.model}/{sample.cluster}/{sample.name}"
        content = [ORIGIN, origin, model.hash, cluster.hash, strategy.id, times]
        return Trial(
            id=content_hash(content, length=32),
            created=created.isoformat(timespec="milliseconds"),
            label=f"imported {sample.name}",
            model=model.name,
            model_hash=model.hash,
            cluster=cluster.name,
            cluster_hash=cluster.hash,
            launcher=LAUNCHER,
            strategy=strategy,
            status="ok",
            stage="collect",
            step_times_s=tuple((seconds,) for seconds in times),
            setup_s=math.nan,
            total_s=math.nan,
            bytes_sent=None,
            bytes_received=None,
            steps=len(times),
            warmup=0,
            seed=0,
            batch_size=model.batch_size,
            optimizer="",
            learning_rate=math.nan,
            bound_s=self._bound(model, cluster, strategy.lossless),
            versions={"origin": ORIGIN, "sample": origin},
        )

    def _item(self, path: Path) -> AutoDistGraphItem:
        if path not in self._items:
            try:
                self._items[path] = read_graph_item(path)
            except InvalidInput as error:
                self._items[path] = error
        item = self._items[path]
        if isinstance(item, InvalidInput):
            raise item
        return item

    def _model(self, sample: Sample, item: AutoDistGraphItem) -> ModelSpec:
        if sample.model not in self.models:
            known = next((b for name, b in BATCHES.items() if sample.model.lower().startswith(name)), None)
            size = self._batch_size or (known.size if known else None)
            if size is None:
                raise InvalidInput("the batch size of this model has to be given", received=sample.model)
            lookups = self._lookups or (known.lookups if known else 1)
            self.models[sample.model] = item.model(sample.model, size, size * lookups)
        return self.models[sample.model]

    def _cluster(self, sample: Sample, replica_nodes: tuple[str, ...]) -> ClusterSpec:
        text = read_text_file(sample.resource_spec, MAX_FILE_BYTES, "a resource spec", InvalidCluster)
        key = (sample.cluster, text, replica_nodes)
        if key not in self._parsed:
            cluster = parse_cluster(text, where=str(sample.resource_spec), name=sample.cluster)
            self._parsed[key] = self._named(_with_replicas(cluster, replica_nodes), sample.cluster)
        return self._parsed[key]

    def _named(self, cluster: ClusterSpec, folder: str) -> ClusterSpec:
        number = 1
        while True:
            name = folder if number == 1 else f"{folder}-{number}"
            known = self.clusters.setdefault(name, replace(cluster, name=name))
            if known.hash == cluster.hash:
                return known
            number += 1

    def _bound(self, model: ModelSpec, cluster: ClusterSpec, lossless: bool) -> float:
        key = (model.hash, cluster.hash, lossless)
        if key not in self._bounds:
            self._bounds[key] = bandwidth_bound(model, cluster, lossless=lossless)
        return self._bounds[key]


def read_runtime(path: Path) -> tuple[float, ...]:
    """Seconds of each step, from a file with `runtime`.

    Raises
    ------
    InvalidInput
        Beginning with the file.
    """
    where = str(path)
    text = read_text_file(path, MAX_FILE_BYTES, "a runtime file", InvalidInput)
    try:
        # JSON first: YAML takes its 1e-05 for a text.
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        try:
            document = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InvalidInput(f"a runtime file is YAML or JSON, and this is neither: {reason}", where=where) from None
    times = document.get("runtime") if isinstance(document, dict) else None
    if not isinstance(times, list) or not times:
        raise InvalidInput("a runtime file has `runtime`, a list of seconds", where=where, received=document)
    for seconds in times:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < MOST_SECONDS:
            raise InvalidInput(
                f"each of `runtime` is a time above 0 and below {MOST_SECONDS:.0e} s", where=where, received=seconds
            )
    return tuple(float(seconds) for seconds in times)


def _with_replicas(cluster: ClusterSpec, replica_nodes: tuple[str, ...]) -> ClusterSpec:
    """The cluster with those replicas: AutoDist may give a node without GPUs one or none, and only a strategy says."""
    names = [node.name for node in cluster.nodes]
    for address in replica_nodes:
        if address not in names:
            raise InvalidInput("the strategy has a replica on a node that is not here", received=address, valid=names)
    nodes = tuple(replace(node, replicas=replica_nodes.count(node.name)) for node in cluster.nodes)
    return replace(cluster, nodes=nodes)


def _fitted(said: Strategy, item: AutoDistGraphItem, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
    """The strategy in the model's order, without what has no gradient, with one kind of thing in each group."""
    entries = {entry.variable: entry for entry in said.variables}
    known = [v.name for v in model.variables]
    ordered = [entries[name] for name in known if name in entries]
    ordered += [e for name, e in entries.items() if name not in (*known, *item.without_gradient)]
    sparse = {v.name for v in model.variables if v.sparse}
    collectives = [
        (shard.group, shard.compressor, entry.variable in sparse)
        for entry in ordered
        for shard in entry.shards
        if isinstance(shard, AllReduce) and shard.group is not None
    ]
    groups = iter(_split_groups(collectives))
    variables = tuple(replace(entry, shards=tuple(_in_group(s, groups) for s in entry.shards)) for entry in ordered)
    strategy = replace(said, variables=variables)
    validate_strategy(strategy, model, cluster)
    return strategy


def _in_group(shard: Synchronizer, groups: Iterator[int]) -> Synchronizer:
    if not isinstance(shard, AllReduce):
        return shard
    group = next(groups)
    return shard if shard.group == group else replace(shard, group=group)


def _split_groups(collectives: list[tuple[int, str, bool]]) -> list[int]:
    """The group of each shard, from AutoDist's group, its compressor, and whether it is rows.

    AutoDist's groups may mix compressors, and rows with dense gradients, but no collective carries both: of such a
    group the first kind keeps the number, and each other kind gets a number that is free.
    """
    free = max((group for group, _, _ in collectives), default=0) + 1
    numbers: dict[tuple[int, str, bool], int] = {}
    for kind in dict.fromkeys(collectives):
        if kind[0] in (group for group, _, _ in numbers):
            numbers[kind] = free
            free += 1
        else:
            numbers[kind] = kind[0]
    return [numbers[kind] for kind in collectives]


def _time_of(name: str) -> datetime | None:
    """The time that an AutoDist id is, such as 20200503T101112M000013 (UTC)."""
    try:
        return datetime.strptime(name, "%Y%m%dT%H%M%SM%f").replace(tzinfo=UTC)
    except ValueError:
        return None
