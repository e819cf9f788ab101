import pytest

from autosync_lab.cluster import cluster_names, load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model import load_model, model_names
from autosync_widgets import ClusterView, ModelView


def test_every_model_can_be_viewed_in_both_scales() -> None:
    for name in model_names():
        view = ModelView(name)
        bars = sum(len(t["x"]) for t in view._figure.spec["data"] if t["uid"] != "touched")
        assert bars == len(view.model.variables) == len(load_model(name).variables)
        assert view._figure.spec["layout"]["yaxis"]["type"] == "linear"
        view._scale.value = "logarithmic"
        assert view._figure.spec["layout"]["yaxis"]["type"] == "log"


def test_every_cluster_can_be_viewed() -> None:
    for name in cluster_names():
        view = ClusterView(name)
        assert len(view._figure.spec["data"][0]["x"]) >= 1
        assert view.cluster == load_cluster(name)
        assert name in view.children[1].value


def test_views_can_be_kept() -> None:
    assert ModelView("ncf-small")._file().name == "ncf-small.html"
    assert ClusterView("emulated-4")._file().name == "emulated-4.html"
    assert ModelView("ncf-small").figure().layout.title.text == "ncf-small"
    assert ClusterView("emulated-4").figure().layout.title.text == "emulated-4"


def test_what_does_not_exist_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="vgg-mini"):
        ModelView("vgg-mimi")
    with pytest.raises(InvalidInput, match="emulated-4"):
        ClusterView("emulated-5")
