from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from autosync_lab.runtime.peers import PEERS
from autosync_lab.strategy import builder_names
from autosync_lab.study import TrialStore
from tests.cli.fake_runner import FakeCluster

Run = Callable[..., tuple[int, str, str]]


def test_every_builder_and_both_peers_run_in_turns(
    fake: FakeCluster, run_json: Callable[..., tuple[int, Any]], tmp_path: Path
) -> None:
    code, document = run_json("race", "vgg-mini", "emulated-4", "--repeat", 2, "--store", tmp_path / "t.db")
    assert code == 0
    once = fake.order[: len(fake.order) // 2]
    assert fake.order == once * 2
    assert set(once) == {*builder_names(), *PEERS}
    assert len(once) == len(set(once))
    assert tuple(once[-2:]) == PEERS
    lossy = [r["lossy"] for r in document["results"] if not r["peer"]]
    assert lossy == sorted(lossy), "lossless strategies come first"
    assert {r["label"] for r in document["results"] if r["lossy"]} == {"horovod-fp16"}
    assert [r["label"] for r in document["results"] if r["peer"]] == list(PEERS)
    with TrialStore(tmp_path / "t.db") as store:
        assert len(store) == len(fake.order)


def test_peers_are_marked_in_the_table(fake: FakeCluster, run: Run) -> None:
    _, out, _ = run("race", "vgg-mini", "emulated-4")
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "peer" in lines["horovod-autotune"]
    assert "peer" in lines["multi-worker-mirrored"]
    assert "peer" not in lines["horovod"]


def test_a_failed_peer_is_a_failed_race(fake: FakeCluster, run: Run) -> None:
    fake.scripts = {"horovod-autotune": lambda runner, trial: replace(trial, status="failed", error="no tuner")}
    code, out, _ = run("race", "vgg-mini", "emulated-4")
    assert code == 1
    assert "no tuner" in out


def test_the_figure_is_one_file(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    code, _, err = run("race", "vgg-mini", "emulated-4", "--figure", tmp_path / "race.html")
    assert code == 0
    assert "Wrote" in err
    html = (tmp_path / "race.html").read_text()
    assert "horovod-autotune" in html
    assert "Plotly" in html
    assert 'src="http' not in html, "it must open without a network"
