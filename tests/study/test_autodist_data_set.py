"""Data sets in the published layout become trials, as far as their files are sound."""

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

import autosync_lab as asl
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy import AllReduce, ParameterServer, VariableStrategy
from autosync_lab.study.autodist_data_set import SampleReader, read_runtime
from autosync_lab.study.autodist_layout import LeftOut, find_samples
from tests.strategy.autodist.wire import Field, ar, ps, strategy
from tests.study.autodist_folder import NODES, SPEC, write_data_set, write_model, write_sample

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data_set(tmp_path / "set")


def imported(folder: Path) -> tuple[list[Trial], list[LeftOut], SampleReader]:
    found, reader = find_samples(folder), SampleReader()
    outcomes = list(reader.read_all(found.samples, NOW))
    assert len(outcomes) == len(found.samples)
    trials = [o for o in outcomes if isinstance(o, Trial)]
    return trials, [*found.left_out, *(o for o in outcomes if isinstance(o, LeftOut))], reader


def test_a_sample_is_a_trial_that_says_where_it_comes_from(folder: Path) -> None:
    trials, left_out, reader = imported(folder)
    assert left_out == []
    assert [(t.model, t.cluster) for t in trials] == [
        ("ncf", "cluster-A"),
        ("ncf", "cluster-A-2"),
        ("vgg16", "cluster-B"),
    ]
    trial = trials[0]
    assert trial.strategy is not None
    assert trial.strategy.variables == (
        VariableStrategy("emb", (ParameterServer("10.0.0.1"), ParameterServer("10.0.0.2")), axis=0),
        VariableStrategy("dense/kernel", (AllReduce(0),)),
        VariableStrategy("scale", (AllReduce(1, "fp16"),)),
    )
    assert (trial.status, trial.simulated, trial.step_time_s, trial.steps) == ("ok", False, 0.375, 3)
    assert (trial.launcher, trial.versions["origin"]) == ("autodist", "AutoDist data set")
    assert trial.versions["sample"] == "ncf/cluster-A/20200503T101112M000013"
    assert trial.created == "2020-05-03T10:11:12.000+00:00"
    assert trials[1].created == "2026-01-02T00:00:00.000+00:00"
    assert math.isnan(trial.total_s)
    assert math.isnan(trial.learning_rate)
    model, cluster = reader.models["ncf"], reader.clusters["cluster-A"]
    assert (trial.model_hash, trial.cluster_hash) == (model.hash, cluster.hash)
    assert (model.batch_size, reader.models["vgg16"].batch_size) == (256, 32)
    assert trial.bound_s == asl.bandwidth_bound(model, cluster, lossless=False)
    assert trials[1].bound_s == pytest.approx(trial.bound_s * 40 / 50)


def test_an_import_again_gives_the_same_trials(folder: Path) -> None:
    first, second = imported(folder)[0], imported(folder)[0]
    assert [t.id for t in first] == [t.id for t in second]
    assert len({t.id for t in first}) == 3
    (folder / "ncf" / "cluster-A" / "runtime" / "second.yml").write_text("runtime: [0.5]")
    assert [t.id for t in imported(folder)[0]][0::2] == [t.id for t in first][0::2]
    assert imported(folder)[0][1].id != first[1].id


def test_one_models_folder_is_enough(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [s.model for s in find_samples(folder / "vgg16").samples] == ["vgg16"]
    monkeypatch.chdir(folder / "vgg16")
    assert [s.model for s in find_samples(Path()).samples] == ["vgg16"]


def test_the_older_layout(tmp_path: Path) -> None:
    experiment = write_model(tmp_path / "densenets169") / "cluster1" / "monday"
    write_sample(experiment, "a")
    write_sample(experiment, "b")
    (experiment / "runtime").rename(experiment / "runtimes")
    for file in (experiment / "resource_spec").iterdir():
        file.unlink()
    (experiment / "resource_spec").rmdir()
    (experiment / "resource_spec.yml").write_text(SPEC)
    trials, left_out, _ = imported(tmp_path)
    assert left_out == []
    assert [(t.model, t.cluster, t.label) for t in trials] == [
        ("densenet169", "cluster-B", "imported a"),
        ("densenet169", "cluster-B", "imported b"),
    ]


def test_replicas_are_where_the_strategy_says(folder: Path) -> None:
    sample = folder / "ncf" / "cluster-A"
    (sample / "strategies" / "second").write_bytes(strategy(*NODES, replicas=("10.0.0.2:GPU:0",)))
    trials, left_out, reader = imported(folder)
    assert left_out == []
    assert trials[1].strategy is not None
    assert trials[1].strategy.replicas == 1
    assert [n.replicas for n in reader.clusters[trials[1].cluster].nodes] == [0, 1]


def test_a_group_that_mixes_kinds_becomes_several(folder: Path) -> None:
    parts: list[Field] = [(5, [(1, "emb/part_0:0"), ar(1)]), (5, [(1, "emb/part_1:0"), ar(0)])]
    nodes: list[list[Field]] = [
        [(1, "scale:0"), ar(1, compressor=1)],
        [(1, "emb:0"), (4, "2,1"), *parts],
        [(1, "dense/kernel:0"), ar(1)],
    ]
    (folder / "vgg16" / "cluster-B" / "strategies" / "third").write_bytes(strategy(*nodes))
    trials, left_out, _ = imported(folder)
    assert left_out == []
    assert trials[2].strategy is not None
    assert [v.shards for v in trials[2].strategy.variables] == [
        (AllReduce(1), AllReduce(0)),
        (AllReduce(2),),
        (AllReduce(3, "fp16"),),
    ]


BROKEN = [
    ("runtime/second.yml", "runtime: [0.5", "neither"),
    ("runtime/second.yml", "average: 0.5", "a list of seconds"),
    ("runtime/second.yml", "runtime: []", "a list of seconds"),
    ("runtime/second.yml", "runtime: [0.5, -1]", "received -1"),
    ("runtime/second.yml", '{"runtime": [NaN]}', "received nan"),
    ("runtime/second.yml", "runtime: !!python/object:os.system [x]", "neither"),
    ("runtime/second.yml", '{"runtime": [1%s]}' % ("0" * 400), "a time above 0"),
    ("resource_spec/second", "nodes: 3", "at least one node"),
    ("resource_spec/second", SPEC.replace("10.0.0.2", "10.0.0.3"), "(received '10.0.0.2')"),
    ("strategies/second", b"\xff", "no AutoDist strategy file"),
    ("strategies/second", strategy(*NODES[1:]), "variable 'dense/kernel': every trainable variable has an entry"),
    ("strategies/second", strategy(*NODES, [(1, "more:0"), ar()]), "no such trainable variable (received 'more')"),
    ("strategies/second", strategy(*NODES[:3], [(1, "scale:0"), ps("x:CPU:0")]), "a node of the cluster"),
    ("strategies/third", b"", "there is no runtime and no resource_spec of this name"),
    ("runtime/third", "runtime: [1]", "there is no strategy and no resource_spec of this name"),
    ("runtime/second.json", '{"runtime": [1]}', "'second.json' is of the same sample"),
    ("notes.txt", "", "no part of a data set"),
]


@pytest.mark.parametrize(("file", "content", "words"), BROKEN)
def test_a_damaged_file_is_told_and_the_rest_is_imported(
    folder: Path, file: str, content: str | bytes, words: str
) -> None:
    path = folder / "ncf" / "cluster-A" / file
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    trials, left_out, _ = imported(folder)
    assert len(trials) == (2 if "second" in file and file != "runtime/second.json" else 3)
    (only,) = left_out
    assert words in only.why
    assert "\n" not in only.why
    expected = folder / "ncf" / "cluster-A" / "runtime" / "second.yml" if file == "runtime/second.json" else path
    assert only.path == str(expected)
    assert str(folder) not in only.why


def test_a_damaged_graph_item_is_told_once(folder: Path) -> None:
    (folder / "ncf" / "graph_item").write_bytes(b"\xff")
    trials, left_out, _ = imported(folder)
    assert [t.model for t in trials] == ["vgg16"]
    assert left_out == [LeftOut(str(folder / "ncf" / "graph_item"), "this is no AutoDist graph item")]


def test_folders_that_are_no_part(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "ncf" / "cluster-C").mkdir()
    (folder / "ncf" / "cluster-A" / "runtime" / "older").mkdir()
    (folder / "ncf" / ".hidden").write_text("")
    _, left_out, _ = imported(folder)
    assert {Path(item.path).name: item.why.split(":")[0] for item in left_out} == {
        "more": "this is no model's folder",
        "cluster-C": "this is no cluster's folder",
        "older": "a file is expected in 'runtime'",
    }


def test_the_batch_of_an_unknown_model_is_given(tmp_path: Path) -> None:
    write_sample(write_model(tmp_path / "mine") / "here", "a")
    trials, (only,), _ = imported(tmp_path)
    assert trials == []
    assert "batch size" in only.why
    found = find_samples(tmp_path)
    reader = SampleReader(batch_size=10, lookups=3)
    (trial,) = reader.read_all(found.samples, NOW)
    assert isinstance(trial, Trial)
    assert trial.batch_size == 10
    assert reader.models["mine"].variables[0].touched_rows == pytest.approx(30, rel=0.02)


def test_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(asl.InvalidInput, match="a data set is a folder"):
        find_samples(tmp_path / "none")
    with pytest.raises(asl.InvalidInput, match="no data set of AutoDist"):
        find_samples(tmp_path)
    (tmp_path / "a").mkdir()
    with pytest.raises(asl.InvalidInput, match="no file 'graph_item'"):
        find_samples(tmp_path)


def test_numbers_as_json_and_yaml_write_them(tmp_path: Path) -> None:
    path = tmp_path / "r"
    for text in ('{"runtime": [1e-05, 2]}', "runtime: [1.0e-05, 2]"):
        path.write_text(text)
        assert read_runtime(path) == (1e-05, 2.0)
