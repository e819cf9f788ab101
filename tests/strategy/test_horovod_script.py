"""Strategies exported for Horovod train, in two processes that know nothing of this package, as one process does."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autosync_lab as asl
from autosync_lab.runtime.namespaces import unshare_command
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy, horovod_script

PROGRAM = Path(__file__).with_name("horovod_training.py")

RANKS = 2

ROWS = AllReduce(9)

LOSSLESS = Strategy(
    (
        VariableStrategy("table/embeddings", (ROWS, AllReduce(2, "none", "dense"), ROWS), axis=0),
        VariableStrategy("dense/kernel", (AllReduce(0), AllReduce(1), AllReduce()), axis=1),
        VariableStrategy("dense/bias", (AllReduce(1),)),
        VariableStrategy("dense_1/kernel", (AllReduce(0),)),
        VariableStrategy("dense_1/bias", (AllReduce(0),)),
    ),
    RANKS,
)

HALF = Strategy(
    (
        VariableStrategy("table/embeddings", (ROWS,)),
        VariableStrategy("dense/kernel", (AllReduce(1, "fp16"),)),
        VariableStrategy("dense/bias", (AllReduce(None, "fp16"),)),
        VariableStrategy("dense_1/kernel", (AllReduce(1, "fp16"),)),
        VariableStrategy("dense_1/bias", (AllReduce(2),)),
    ),
    RANKS,
)

FUSING = Strategy(tuple(VariableStrategy(v.variable, (AllReduce(),)) for v in LOSSLESS.variables), RANKS)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one training in two processes, in a network of their own."""
    folder = tmp_path_factory.mktemp("horovod")
    for name, strategy in (("lossless", LOSSLESS), ("half", HALF), ("fusing", FUSING)):
        (folder / f"{name}.py").write_text(horovod_script(strategy, name))
    (folder / "hosts").write_text("127.0.0.1 localhost autosync-lab\n")
    set_up = 'ip link set lo up && hostname autosync-lab && mount --bind "$0" /etc/hosts && exec "$@"'
    done = subprocess.run(
        [
            *(unshare_command() or ()),
            *("sh", "-c", set_up, str(folder / "hosts")),
            *(sys.executable, "-m", "horovod.runner.launch", "-np", str(RANKS), "--gloo"),
            *("--network-interfaces", "lo", sys.executable, str(PROGRAM), str(folder), "lossless", "half", "fusing"),
        ],
        env=os.environ
        | {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1", "KERAS_BACKEND": "tensorflow", "PYTHONPATH": ""},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return folder


def parameters(folder: Path, name: str) -> list[np.ndarray]:
    with np.load(folder / f"{name}.npz") as file:
        return [file[key] for key in file.files]


def worst_difference(folder: Path, name: str, other: str) -> float:
    pairs = zip(parameters(folder, name), parameters(folder, other), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def collectives(folder: Path, name: str) -> dict[str, tuple[str, int, str]]:
    calls: list[list[Any]] = json.loads((folder / "calls.json").read_text())[name]
    # TensorFlow traces a step that makes variables twice.
    assert set(Counter(call[1] for call in calls).values()) == {2}
    return {call[1]: (call[0], call[2], call[3]) for call in calls}


@pytest.mark.cluster
def test_two_ranks_train_as_one_process(trained: Path) -> None:
    assert worst_difference(trained, "lossless-0", "lossless-1") == 0.0
    assert worst_difference(trained, "lossless-0", "alone") < 1e-6
    assert all(np.abs(p).max() > 0.01 for p in parameters(trained, "alone"))


@pytest.mark.cluster
def test_half_precision_trains_nearly_so(trained: Path) -> None:
    assert worst_difference(trained, "half-0", "half-1") == 0.0
    assert 1e-6 < worst_difference(trained, "half-0", "alone") < 2e-3


@pytest.mark.cluster
def test_what_travels_together_is_what_the_strategy_says(trained: Path) -> None:
    assert collectives(trained, "lossless") == {
        "group9.float32.values": ("grouped_allgather", 2, ""),
        "group9.float32.ids": ("grouped_allgather", 2, ""),
        "group2.float32": ("grouped_allreduce", 1, "NoneCompressor"),
        "group0.float32": ("grouped_allreduce", 3, "NoneCompressor"),
        "group1.float32": ("grouped_allreduce", 2, "NoneCompressor"),
        "shard1.2.float32": ("allreduce", 1, "NoneCompressor"),
    }
    assert collectives(trained, "half") == {
        "group9.float32.values": ("grouped_allgather", 1, ""),
        "group9.float32.ids": ("grouped_allgather", 1, ""),
        "group1.float32": ("grouped_allreduce", 2, "FP16Compressor"),
        "shard2.0.float32": ("allreduce", 1, "FP16Compressor"),
        "group2.float32": ("grouped_allreduce", 1, "NoneCompressor"),
    }


@pytest.mark.cluster
def test_fusion_is_settled_when_horovod_starts(trained: Path) -> None:
    said = json.loads((trained / "calls.json").read_text())["fusing"]
    assert said == "import this before hvd.init(), or set HOROVOD_DISABLE_GROUP_FUSION=0"


@pytest.mark.parametrize("name", ["all-reduce", "partitioned-all-reduce", "horovod", "horovod-fp16"])
def test_a_script_needs_nothing_of_this_package(name: str) -> None:
    strategy = asl.build_strategy(name, asl.load_model("bert-large"), asl.load_cluster("cluster-b"))
    text = horovod_script(strategy, "sync")
    tree = ast.parse(text)
    imported = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {
        "os",
        "re",
        "collections.abc",
        "itertools",
        "typing",
        "horovod.tensorflow",
        "tensorflow",
    }
    assert _constant(tree, "PLAN") == {
        v.variable: (v.axis, tuple((s.group, s.compressor, s.sparse_as) for s in v.shards if isinstance(s, AllReduce)))
        for v in strategy.variables
    }
    assert _constant(tree, "EXACT_GROUPS") is not name.startswith("horovod")
    assert strategy.id in (ast.get_docstring(tree) or "")
    assert "sync.distributed(" in (ast.get_docstring(tree) or "")


def _constant(tree: ast.Module, name: str) -> Any:
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and target.id == name:
            assert node.value is not None
            return ast.literal_eval(node.value)
    raise AssertionError(name)


def test_what_horovod_cannot_do_is_refused_by_the_first_variable() -> None:
    first, last = VariableStrategy("a", (AllReduce(0),)), VariableStrategy("d", (AllReduce(0, "bf16"),))
    on_server = VariableStrategy("b", (AllReduce(0), ParameterServer("n0")), 0)
    with pytest.raises(asl.InvalidInput, match=r"variable 'b': Horovod has no parameter servers.*on n0"):
        horovod_script(Strategy((first, on_server, last), 2))
    with pytest.raises(asl.InvalidInput, match=r"variable 'd': .* compressor .*did you mean 'fp16'"):
        horovod_script(Strategy((first, last), 2))
    with pytest.raises(asl.InvalidInput, match="synchronously"):
        horovod_script(Strategy((first,), 2, synchronous=False))
    for name in ("best-one", "class", "1st", ""):
        with pytest.raises(asl.InvalidInput, match="module's name"):
            horovod_script(Strategy((first,), 2), name)
