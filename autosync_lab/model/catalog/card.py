"""What is known of each catalog model besides its variables."""

from dataclasses import dataclass, field
from typing import Any

from autosync_lab.errors import InvalidModel


@dataclass(frozen=True)
class ModelCard:
    """A catalog model in words, and how to build it with Keras.

    Parameters
    ----------
    name, title : str
    family : str
        What it is used for.
    source : str
        Where its architecture, and the published number of parameters, come from.
    bench : bool
        True for models small enough to be measured on two cores.
    recipe : str
        Module below `autosync_lab.model.catalog` whose `build` returns (Keras model, loss, batches).
    options : dict
        Arguments of `build`.
    published_parameters : int, optional
        Parameters of the published model, those included that are not trained; None for models that are not published.
    frozen_parameters : int
        Parameters of the published model that are not trained: batch-norm statistics.
    example_note : str
        How examples are drawn, where that decides what is synchronized.
    """

    name: str
    title: str
    family: str
    source: str
    bench: bool
    recipe: str
    options: dict[str, Any] = field(default_factory=dict)
    published_parameters: int | None = None
    frozen_parameters: int = 0
    example_note: str = ""


_VISION, _LANGUAGE, _RECOMMENDATION = "image classification", "language", "recommendation"
_ROWS = "the rows that a step touches are the expected number of distinct ones, sum of 1 - (1 - p)^draws over all rows"
_WORDS = f"words are drawn with frequency proportional to 1/rank; {_ROWS}"
_PAIRS = f"users and items are drawn uniformly; {_ROWS}"


def _bench(name: str, title: str, family: str, source: str, example_note: str = "") -> ModelCard:
    return ModelCard(name, title, family, source, True, f"bench.{name.replace('-', '_')}", example_note=example_note)


def _image(
    name: str, title: str, paper: str, keras_name: str, published: int, frozen: int = 0, size: int = 224
) -> ModelCard:
    return ModelCard(
        name,
        title,
        _VISION,
        f"{paper}; parameters as documented for keras.applications.{keras_name} with 1000 classes",
        False,
        "full.applications",
        {"model": keras_name, "size": size, "batch": 32},
        published,
        frozen,
    )


def _bert(name: str, title: str, layers: int, hidden: int, published: int | None) -> ModelCard:
    return ModelCard(
        name,
        title,
        _LANGUAGE,
        "Devlin et al., NAACL 2019; variables of keras-hub's BertBackbone"
        + ("" if published else ", cut as in AutoSync (Zhang et al., NeurIPS 2020)"),
        False,
        "full.bert",
        {"layers": layers, "hidden": hidden, "batch": 32, "length": 128},
        published,
        example_note=_WORDS,
    )


def _ncf(name: str, title: str, dense: bool) -> ModelCard:
    return ModelCard(
        name,
        title,
        _RECOMMENDATION,
        "NeuMF of He et al., WWW 2017, on MovieLens-20M: 138,493 users, 26,744 items; 64 factors and an MLP of "
        "256-256-128-64 as in MLPerf training 0.5",
        False,
        "full.ncf",
        {
            "users": 138_493,
            "items": 26_744,
            "gmf": 64,
            "mlp": (256, 256, 128, 64),
            "batch": 256,
            "zipf": None,
            "dense": dense,
        },
        example_note="" if dense else _PAIRS,
    )


CATALOG: dict[str, ModelCard] = {
    card.name: card
    for card in (
        _bench("vgg-mini", "a few large dense variables", _VISION, "made here, after VGG"),
        _bench("resnet-mini", "over a hundred small variables", _VISION, "made here, after SkipInit residual networks"),
        _bench(
            "bert-tiny",
            "a two-layer transformer with a sparse token embedding",
            _LANGUAGE,
            "made here, after Devlin et al., NAACL 2019",
            "words are drawn with frequency proportional to 1/rank",
        ),
        _bench(
            "ncf-small",
            "four embeddings of which few rows are touched",
            _RECOMMENDATION,
            "made here, after He et al., WWW 2017",
            "users and items are drawn with frequency proportional to rank^-0.7",
        ),
        _bench(
            "lm-small",
            "a large embedding and a recurrent layer",
            _LANGUAGE,
            "made here",
            "words are drawn with frequency proportional to 1/rank",
        ),
        _image("vgg16", "VGG-16", "Simonyan and Zisserman, ICLR 2015", "VGG16", 138_357_544),
        _image("resnet50", "ResNet-50", "He et al., CVPR 2016", "ResNet50", 25_636_712, 53_120),
        _image("resnet101", "ResNet-101", "He et al., CVPR 2016", "ResNet101", 44_707_176, 105_344),
        _image("densenet121", "DenseNet-121", "Huang et al., CVPR 2017", "DenseNet121", 8_062_504, 83_648),
        _image("inceptionv3", "Inception v3", "Szegedy et al., CVPR 2016", "InceptionV3", 23_851_784, 34_432, size=299),
        _bert("bert-large", "BERT large, 24 layers", 24, 1024, 335_141_888),
        _bert("bert-12l", "BERT base, 12 layers", 12, 768, 109_482_240),
        _bert("bert-6l", "BERT base cut to 6 layers", 6, 768, None),
        _bert("bert-3l", "BERT base cut to 3 layers", 3, 768, None),
        _ncf("ncf", "neural collaborative filtering, sparse embeddings", dense=False),
        _ncf("ncf-dense", "neural collaborative filtering, dense embedding gradients", dense=True),
    )
}


def model_names() -> tuple[str, ...]:
    """Names of the catalog's models, bench size first."""
    return tuple(CATALOG)


def model_card(name: str) -> ModelCard:
    """What is known of a catalog model.

    Raises
    ------
    InvalidModel
        If the catalog has no model of that name.
    """
    if name not in CATALOG:
        raise InvalidModel("no model of the catalog has this name", received=name, valid=model_names())
    return CATALOG[name]
