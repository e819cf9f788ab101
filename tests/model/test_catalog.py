import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from autosync_lab import InvalidInput, ModelSpec, load_model
from autosync_lab.errors import MissingExtra
from autosync_lab.model import model_card, model_names
from autosync_lab.model.catalog import capture_catalog_model, load_bench
from autosync_lab.model.catalog.examples import expected_rows, frequencies, ids
from tests.model.captured_step import run_captured

BENCH = [name for name in model_names() if model_card(name).bench]

PUBLISHED = {
    # (all parameters, trainable ones): Keras's documentation and model summaries; keras-hub's presets
    "vgg16": (138_357_544, 138_357_544),
    "resnet50": (25_636_712, 25_583_592),
    "resnet101": (44_707_176, 44_601_832),
    "densenet121": (8_062_504, 7_978_856),
    "inceptionv3": (23_851_784, 23_817_352),
    "bert-large": (335_141_888, 335_141_888),
    "bert-12l": (109_482_240, 109_482_240),
}


def bert_parameters(layers: int, hidden: int) -> int:
    embeddings = (30_522 + 512 + 2) * hidden + 2 * hidden
    attention = 4 * (hidden * hidden + hidden)
    feed_forward = 2 * 4 * hidden * hidden + 4 * hidden + hidden
    return embeddings + layers * (attention + feed_forward + 2 * 2 * hidden) + hidden * hidden + hidden


def ncf_parameters() -> int:
    dense = [(256, 256), (256, 128), (128, 64), (128, 1)]
    return (138_493 + 26_744) * (64 + 128) + sum(rows * columns + columns for rows, columns in dense)


def test_names() -> None:
    assert BENCH == ["vgg-mini", "resnet-mini", "bert-tiny", "ncf-small", "lm-small"]
    assert set(PUBLISHED) | {"bert-6l", "bert-3l", "ncf", "ncf-dense"} == set(model_names()) - set(BENCH)


@pytest.mark.parametrize("name", model_names())
def test_every_model_loads(name: str) -> None:
    model, card = load_model(name), model_card(name)
    assert model.name == card.name == name
    assert card.title
    assert card.source
    assert model.flops is not None
    assert model.flops > 0
    assert max(v.ready for v in model.variables) == 1.0


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_published_sizes(name: str, parameters: tuple[int, int]) -> None:
    card = model_card(name)
    assert card.published_parameters == parameters[0]
    assert load_model(name).parameters == parameters[1] == parameters[0] - card.frozen_parameters


@pytest.mark.parametrize(
    ("name", "layers", "hidden"),
    [("bert-large", 24, 1024), ("bert-12l", 12, 768), ("bert-6l", 6, 768), ("bert-3l", 3, 768)],
)
def test_sizes_of_bert(name: str, layers: int, hidden: int) -> None:
    model = load_model(name)
    assert model.parameters == bert_parameters(layers, hidden)
    assert [(v.name, v.shape) for v in model.variables if v.sparse] == [
        ("token_embedding/embeddings", (30_522, hidden))
    ]
    assert model.batch_size == 32


def test_sizes_of_ncf() -> None:
    sparse, dense = load_model("ncf"), load_model("ncf-dense")
    assert sparse.parameters == dense.parameters == ncf_parameters()
    rows = {v.name: v.touched_rows for v in sparse.variables if v.sparse}
    assert rows.keys() == {f"{who}_{what}/embeddings" for who in ("user", "item") for what in ("gmf", "mlp")}
    # n (1 - (1 - 1/n)^256) distinct ones among 256 uniform draws
    assert rows["user_gmf/embeddings"] == pytest.approx(138_493 * (1 - (1 - 1 / 138_493) ** 256), rel=1e-6)
    assert rows["item_mlp/embeddings"] == pytest.approx(26_744 * (1 - (1 - 1 / 26_744) ** 256), rel=1e-6)
    assert not any(v.sparse for v in dense.variables)
    assert {(v.name, v.shape) for v in dense.variables} == {(v.name, v.shape) for v in sparse.variables}


@pytest.mark.parametrize(("name", "giga_flops"), [("vgg16", 3 * 32 * 30.9), ("resnet50", 3 * 32 * 7.7)])
def test_operations_are_three_times_those_of_the_forward_pass(name: str, giga_flops: float) -> None:
    # Multiply-adds of one image from the papers (15.5 and 3.9 billion), counted as two operations each
    assert load_model(name).flops == pytest.approx(giga_flops * 1e9, rel=0.05)


def test_gradients_are_ready_from_the_last_layer_to_the_first() -> None:
    ready = {v.name: v.ready for v in load_model("vgg16").variables}
    assert (
        ready["predictions/kernel"] < ready["fc1/kernel"] < ready["block3_conv1/kernel"] < ready["block1_conv1/kernel"]
    )


def test_shape_of_the_bench_models() -> None:
    vgg, resnet = load_model("vgg-mini"), load_model("resnet-mini")
    assert sum(sorted(v.size for v in vgg.variables)[-2:]) > 0.9 * vgg.parameters
    assert 2.0e6 < vgg.parameters < 2.5e6
    assert len(resnet.variables) > 100
    assert max(v.size for v in resnet.variables) < 30_000
    for name in ("bert-tiny", "ncf-small", "lm-small"):
        sparse = [v for v in load_model(name).variables if v.sparse]
        assert sparse
        assert all((v.touched_rows or 0) < 0.1 * v.shape[0] for v in sparse)


@pytest.mark.parametrize("name", BENCH)
def test_bench_models_are_what_their_data_files_say(name: str) -> None:
    described, captured = load_model(name), capture_catalog_model(name)
    assert captured.hash == described.hash
    assert captured.batch_size == described.batch_size
    assert captured.flops == described.flops
    for a, b in zip(captured.variables, described.variables, strict=True):
        assert a.ready == pytest.approx(b.ready, abs=1e-6)
        assert a.touched_rows == pytest.approx(b.touched_rows, abs=1e-6)
    traced = captured.traced
    assert {len(stack) for stack in traced.examples} == {16}
    for stack in traced.examples[:1]:
        assert len({batch.tobytes() for batch in stack}) == 16
    result = run_captured(traced)
    assert np.isfinite(result.loss)
    # No gradient is 0 throughout: relative errors mean something for every variable.
    assert all(np.any(g != 0.0) for g in result.gradients.values())


def test_the_step_of_a_bench_model_is_kept() -> None:
    assert load_model("ncf-small").traced is load_model("ncf-small").traced


def test_float64_variant_has_the_same_first_values() -> None:
    double, single = load_bench("ncf-small", dtype="float64", batches=2), load_model("ncf-small")
    assert {v.dtype for v in double.variables} == {"float64"}
    assert [v.name for v in double.variables] == [v.name for v in single.variables]
    for variable in single.variables:
        value = double.traced.values[variable.name]
        np.testing.assert_array_equal(value.astype("float32"), single.traced.values[variable.name])
    with pytest.raises(InvalidInput, match="no bench model"):
        load_bench("vgg16")


@pytest.mark.parametrize(
    ("name", "options"), [("resnet50", {"batch": 1}), ("ncf-dense", {}), ("bert-3l", {"batch": 1})]
)
def test_true_sizes_are_what_keras_builds(name: str, options: dict[str, Any]) -> None:
    captured = capture_catalog_model(name, batches=1, **options)
    assert [(v.name, v.shape, v.sparse) for v in captured.variables] == [
        (v.name, v.shape, v.sparse) for v in load_model(name).variables
    ]


def test_a_catalog_of_another_keras_version_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from autosync_lab.model.catalog import load

    def other(name: str) -> ModelSpec:
        return ModelSpec(name, load_model(name).variables[1:], 1)

    monkeypatch.setattr(load, "capture_catalog_model", other)
    with pytest.raises(InvalidInput, match=r"tools/make_catalog\.py"):
        _ = load_model("vgg16").traced


def test_without_tensorflow_models_load_and_traces_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    assert load_model("vgg16").parameters == 138_357_544
    with pytest.raises(MissingExtra, match=r"autosync-lab\[tensorflow\]"):
        capture_catalog_model("vgg-mini")


def test_loading_imports_no_tensorflow() -> None:
    program = (
        "import sys; from autosync_lab.model import load_model, model_names; [load_model(n) for n in model_names()]; "
        "print([m for m in ('tensorflow', 'keras') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'resnet50'"):
        model_card("resnet-50")


@pytest.mark.parametrize("zipf", [None, 0.7, 1.0])
def test_expected_rows_are_those_of_the_draws(zipf: float | None) -> None:
    rng = np.random.default_rng(0)
    counts = [np.unique(ids(rng, 50, (40,), zipf)).size for _ in range(4000)]
    # The mean of 4,000 counts that vary by about 2 is within 0.2 of its expectation.
    assert expected_rows(50, 40, zipf) == pytest.approx(np.mean(counts), abs=0.2)
    assert frequencies(50, zipf).sum() == pytest.approx(1.0)


def test_building_a_model_leaves_the_global_random_state() -> None:
    np.random.seed(1)
    tf.random.set_seed(1)
    expected = np.random.random(), tf.random.normal(()).numpy()
    np.random.seed(1)
    tf.random.set_seed(1)
    capture_catalog_model("vgg-mini", batches=1)
    assert (np.random.random(), tf.random.normal(()).numpy()) == expected
