from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autosync_lab as asl
from autosync_lab.cluster import cluster_names, dump_cluster
from autosync_lab.model import model_names
from autosync_lab.strategy import Strategy, builder_names, read_autodist_strategy
from autosync_lab.study import TrialStore
from tests.cli.fake_runner import FakeCluster
from tests.study.trial_factory import ALL_REDUCE, ON_ONE_SERVER, make_trial

Run = Callable[..., tuple[int, str, str]]
RunJson = Callable[..., tuple[int, Any]]


def rows(table: str) -> dict[str, str]:
    return {line.split()[0]: line for line in table.splitlines() if line.strip()}


def test_models(run: Run, run_json: RunJson) -> None:
    code, out, _ = run("models")
    assert code == 0
    assert set(model_names()) <= set(rows(out))
    assert "bench" in rows(out)["vgg-mini"]
    assert "true" in rows(out)["vgg16"]
    _, document = run_json("models")
    by_name = {row["name"]: row for row in document["models"]}
    assert tuple(by_name) == model_names()
    assert by_name["vgg16"]["parameters"] == 138_357_544
    assert by_name["vgg16"]["sparse_share"] == 0
    assert by_name["ncf-small"]["sparse_share"] > 0.5


def test_a_model_lists_its_variables(run: Run, run_json: RunJson) -> None:
    model = asl.load_model("vgg-mini")
    code, out, _ = run("models", "vgg-mini")
    assert code == 0
    assert f"{model.parameters:,} parameters" in out
    assert {v.name for v in model.variables} <= set(rows(out))
    _, document = run_json("models", "vgg-mini")
    assert [v["name"] for v in document["per_variable"]] == [v.name for v in model.variables]


def test_clusters(run: Run, run_json: RunJson) -> None:
    code, out, _ = run("clusters")
    assert code == 0
    assert set(cluster_names()) <= set(rows(out))
    assert "unlimited" in rows(out)["local-2"]
    _, document = run_json("clusters")
    servers = next(c for c in document["clusters"] if c["name"] == "emulated-servers")
    assert (servers["nodes"], servers["replicas"], servers["servers_only"]) == (6, 4, 2)


def test_a_cluster_file_lists_its_nodes(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text(dump_cluster(asl.load_cluster("emulated-hetero-4")))
    code, out, _ = run("clusters", path)
    assert code == 0
    assert {n.name for n in asl.load_cluster("emulated-hetero-4").nodes} <= set(rows(out))
    code, document = run_json("clusters", "local-2")
    assert document["per_node"][0]["up_gbps"] is None


def test_strategies_say_what_they_send(run: Run, run_json: RunJson) -> None:
    code, out, _ = run("strategies", "vgg-mini", "emulated-4")
    assert code == 0
    assert set(builder_names()) <= set(rows(out))
    assert "(lossy)" in rows(out)["horovod-fp16"]
    assert "(lossy)" not in rows(out)["horovod"]
    _, document = run_json("strategies", "vgg-mini", "emulated-4")
    by_name = {row["name"]: row for row in document["strategies"]}
    model, cluster = asl.load_model("vgg-mini"), asl.load_cluster("emulated-4")
    ring = 2 * 3 / 4 * model.nbytes
    assert by_name["horovod"]["bytes_sent"] == pytest.approx({n.name: ring for n in cluster.nodes})
    assert by_name["horovod"]["own_bound_s"] == pytest.approx(ring / cluster.nodes[0].up_bytes_per_s)
    assert by_name["horovod"]["over_bound"] == pytest.approx(1.0)
    assert by_name["ps"]["over_bound"] == pytest.approx(2.0)
    assert max(by_name["ps"]["bytes_received"].values()) == pytest.approx(3 * model.nbytes)


def test_profile(fake: FakeCluster, run: Run, run_json: RunJson) -> None:
    code, out, _ = run("profile", "vgg-mini", "local-2")
    assert code == 0
    assert "500 ms of compute" in out
    _, document = run_json("profile", "vgg-mini", "local-2")
    assert document["compute_s"] == 0.5
    assert [r["variable"] for r in document["ready"]] == [v.name for v in asl.load_model("vgg-mini").variables]
    assert fake.closed == ["local-2", "local-2"]


def test_export_a_builders_strategy(run: Run) -> None:
    code, out, _ = run("export", "ps", "--model", "vgg-mini", "--cluster", "local-2", "--format", "json")
    assert code == 0
    assert Strategy.loads(out) == asl.build_strategy("ps", asl.load_model("vgg-mini"), asl.load_cluster("local-2"))


def test_export_a_file_to_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(ALL_REDUCE.dumps())
    code, out, err = run("export", tmp_path / "a.json", "--output", tmp_path / "b.json")
    assert (code, out) == (0, "")
    assert "Wrote" in err
    assert Strategy.loads((tmp_path / "b.json").read_text()) == ALL_REDUCE


def test_export_from_a_store(run: Run, tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.db") as store:
        store.add(make_trial("abc1"))
        store.add(make_trial("abc2", strategy=ON_ONE_SERVER))
        store.add(make_trial("xyz", strategy=None))
    for word, strategy in ((ALL_REDUCE.id, ALL_REDUCE), ("abc2", ON_ONE_SERVER)):
        code, out, _ = run("export", word, "--store", tmp_path / "t.db")
        assert code == 0
        assert Strategy.loads(out) == strategy
    for word, count in (("abc", 2), ("xyz", 0), ("", 2)):
        code, out, err = run("export", word, "--store", tmp_path / "t.db")
        assert (code, out) == (2, "")
        assert f"{count} strategies" in err


def test_export_what_is_no_strategy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff\x00")
    for word, part in (
        ("horvod", "did you mean 'horovod'"),
        (tmp_path / "a.json", "a strategy file is text"),
        (tmp_path, "neither"),
    ):
        code, out, err = run("export", word)
        assert (code, out) == (2, "")
        assert part in err
        assert err.count("\n") == 1


def test_export_for_autodist_and_back(run: Run, tmp_path: Path) -> None:
    model, cluster = asl.load_model("ncf"), asl.load_cluster("cluster-b")
    strategy = asl.build_strategy("parallax", model, cluster)
    where = ("--model", "ncf", "--cluster", "cluster-b")
    code, out, err = run("export", "parallax", *where, "--format", "autodist", "--output", tmp_path / "s")
    assert (code, out) == (0, "")
    assert "Wrote" in err
    assert read_autodist_strategy(tmp_path / "s").strategy == strategy
    code, out, _ = run("export", tmp_path / "s")
    assert code == 0
    assert Strategy.loads(out) == strategy
    assert asl.build_strategy(tmp_path / "s", model, cluster) == strategy


def test_export_for_horovod(run: Run, tmp_path: Path) -> None:
    where = ("--model", "ncf", "--cluster", "cluster-b")
    code, out, _ = run("export", "horovod", *where, "--format", "horovod")
    assert code == 0
    assert "synchronization.distributed(" in out
    compile(out, "synchronization.py", "exec")
    code, out, _ = run("export", "horovod", *where, "--format", "horovod", "--output", tmp_path / "sync.py")
    assert (code, out) == (0, "")
    assert "sync.distributed(" in (tmp_path / "sync.py").read_text()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("ps", "--format", "autodist"), "no --model and no --cluster and no --output"),
        (
            ("parallax", "--model", "ncf", "--cluster", "cluster-b", "--format", "horovod"),
            "variable 'user_mlp/embeddings'",
        ),
        (
            ("byteps", "--model", "ncf", "--cluster", "cluster-b", "--format", "autodist", "--output", "x"),
            "push_credit",
        ),
    ],
)
def test_export_what_the_other_program_cannot_do(words: tuple[str, ...], part: str, run: Run, tmp_path: Path) -> None:
    words = tuple(str(tmp_path / "x") if word == "x" else word for word in words)
    code, out, err = run("export", *words)
    assert (code, out) == (2, "")
    assert part in err
    assert list(tmp_path.iterdir()) == []
