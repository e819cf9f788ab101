"""A small data set in the published layout, written by hand."""

import json
from pathlib import Path

from tests.model.test_autodist_graph_item import item
from tests.strategy.autodist.wire import Field, ar, ps, strategy

SPEC = """
nodes:
  - {address: 10.0.0.1, gpus: [0], chief: true, network_bandwidth: 40}
  - {address: 10.0.0.2, gpus: [0], ssh_config: conf, network_bandwidth: 40}
ssh:
  conf: {username: trainer}
"""

WIDE_SPEC = SPEC.replace("40", "50")

NODES: tuple[list[Field], ...] = (
    [(1, "dense/kernel:0"), ar(0)],
    [(1, "emb:0"), (4, "2,1"), (5, [(1, "emb/part_0:0"), ps()]), (5, [(1, "emb/part_1:0"), ps("10.0.0.2:CPU:0")])],
    [(1, "unused:0"), ar(0)],
    [(1, "scale:0"), ar(0, compressor=1)],
)
"""Not in the graph's order; a variable without gradient; two compressors in one group, as AutoDist's sampler has."""


def write_model(folder: Path) -> Path:
    """A model's folder with its graph item."""
    folder.mkdir(parents=True)
    (folder / "graph_item").write_bytes(item())
    return folder


def write_sample(cluster: Path, name: str, runtime: object = (0.25, 0.5, 0.375), spec: str = SPEC) -> None:
    """One sample of the published layout: the runtime is JSON, or text as it is."""
    for part in ("resource_spec", "runtime", "strategies"):
        (cluster / part).mkdir(parents=True, exist_ok=True)
    text = runtime if isinstance(runtime, str) else json.dumps({"runtime": runtime, "average": 0.375})
    (cluster / "resource_spec" / name).write_text(spec)
    (cluster / "runtime" / f"{name}.yml").write_text(text)
    (cluster / "strategies" / name).write_bytes(strategy(*NODES, name=name))


def write_data_set(folder: Path) -> Path:
    """Two models on one cluster each, three trials."""
    ncf = write_model(folder / "ncf") / "cluster-A"
    write_sample(ncf, "20200503T101112M000013")
    write_sample(ncf, "second", "average: 0.375\nruntime:\n- 0.25\n- 0.5\n- 0.375\n", WIDE_SPEC)
    write_sample(write_model(folder / "vgg16") / "cluster-B", "third")
    (folder / "README.md").write_text("A data set.")
    return folder
