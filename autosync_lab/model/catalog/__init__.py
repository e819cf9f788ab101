"""Models by name. Their variables come from data files, so that no TensorFlow is needed to look at them; the step that
workers run is captured when it is first asked for."""

import json
from dataclasses import dataclass, replace
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from autosync_lab.errors import InvalidModel
from autosync_lab.model.spec import ModelSpec

MAX_FILE_BYTES = 64 << 20


@dataclass(frozen=True)
class ModelCard:
    """What is known of a catalog model.

    Parameters
    ----------
    name, title, source : str
    bench : bool
        True for models small enough to be measured on two cores.
    recipe : str
        module:function of this package that returns (Keras model, loss, batches).
    options : dict
        Arguments of the recipe.
    published_parameters : int, optional
        Parameters of the published model, frozen ones included.
    frozen_parameters : int
        Those of them that are not trained (batch-norm statistics).
    """

    name: str
    title: str
    source: str
    bench: bool
    recipe: str
    options: dict[str, Any]
    published_parameters: int | None = None
    frozen_parameters: int = 0


def _bert(layers: int, hidden: int, published: int | None) -> dict[str, Any]:
    sizes = {"layers": layers, "hidden": hidden, "heads": hidden // 64, "intermediate": 4 * hidden}
    return {
        "recipe": "bert:build",
        # The published encoder has no classifier.
        "options": sizes | {"with_head": False, "batches": 2},
        "published_parameters": published,
    }


_APPLICATIONS = "keras.applications, no pre-trained weights, 1000 classes"
_BERT = "Devlin et al., NAACL 2019; the variables of keras-hub's BertBackbone"
_NCF = "He et al., WWW 2017 (NeuMF); sizes of MLPerf training 0.5 on MovieLens-20M"

_CARDS = (
    ModelCard(
        "vgg-mini", "a few large dense variables", "made here", True, "vgg_mini:build", {}
    ),
    ModelCard("resnet-mini", "over a hundred small variables", "made here", True, "resnet_mini:build", {}),
    ModelCard(
        "bert-tiny",
        "a two-layer transformer with a sparse token embedding",
        "made here, after Devlin et al., NAACL 2019",
        True,
        "bert:build",
        {
            "layers": 2, "hidden": 128, "heads": 2, "intermediate": 512, "vocabulary": 8000, "positions": 32,
            "length": 32, "batch": 8, "classes": 64,
        },
    ),
    ModelCard(
        "ncf-small",
        "four embeddings of which few rows are touched",
        "made here, after He et al., WWW 2017",
        True,
        "ncf:build",
        {"users": 20_000, "items": 10_000, "gmf": 64, "mlp": (128, 64, 32), "batch": 256, "zipf": 1.2},
    ),
    ModelCard("lm-small", "a large embedding and a recurrent layer", "made here", True, "lm_small:build", {}),
    ModelCard(
        "vgg16", "VGG16", f"Simonyan and Zisserman, ICLR 2015; {_APPLICATIONS}", False, "applications:build",
        {"model": "VGG16", "size": 224, "batch": 32}, 138_357_544,
    ),
    ModelCard(
        "resnet50", "ResNet-50", f"He et al., CVPR 2016; {_APPLICATIONS}", False, "applications:build",
        {"model": "ResNet50", "size": 224, "batch": 32}, 25_636_712, 53_120,
    ),
    ModelCard(
        "resnet101", "ResNet-101", f"He et al., CVPR 2016; {_APPLICATIONS}", False, "applications:build",
        {"model": "ResNet101", "size": 224, "batch": 32}, 44_707_176, 105_344,
    ),
    ModelCard(
        "densenet121", "DenseNet-121", f"Huang et al., CVPR 2017; {_APPLICATIONS}", False, "applications:build",
        {"model": "DenseNet121", "size": 224, "batch": 32}, 8_062_504, 83_648,
    ),
    ModelCard(
        "inceptionv3", "Inception v3", f"Szegedy et al., CVPR 2016; {_APPLICATIONS}", False, "applications:build",
        {"model": "InceptionV3", "size": 299, "batch": 32}, 23_851_784, 34_432,
    ),
    ModelCard("bert-large", "BERT large, 24 layers", _BERT, False, **_bert(24, 1024, 335_141_888)),
    ModelCard("bert-12l", "BERT base, 12 layers", _BERT, False, **_bert(12, 768, 109_482_240)),
    ModelCard("bert-6l", "BERT base cut to 6 layers", _BERT, False, **_bert(6, 768, None)),
    ModelCard("bert-3l", "BERT base cut to 3 layers", _BERT, False, **_bert(3, 768, None)),
    ModelCard(
        "ncf", "neural collaborative filtering, sparse embeddings", _NCF, False, "ncf:build",
        {"users": 138_493, "items": 26_744, "gmf": 64, "mlp": (256, 256, 128, 64), "batch": 256, "zipf": None},
    ),
    ModelCard(
        "ncf-dense", "neural collaborative filtering, dense embedding gradients", _NCF, False, "ncf:build",
        {
            "users": 138_493, "items": 26_744, "gmf": 64, "mlp": (256, 256, 128, 64), "batch": 256, "zipf": None, "batches": 2,
            "dense": True,
        },
    ),
)  # fmt: skip

CATALOG: dict[str, ModelCard] = {card.name: card for card in _CARDS}


def model_names() -> tuple[str, ...]:
    """Names of the catalog's models, bench size first."""
    return tuple(CATALOG)


def model_card(name: str) -> ModelCard:
    """What is known of a catalog model."""
    if name not in CATALOG:
        raise InvalidModel("no model of the catalog has this name", received=name, valid=model_names())
    return CATALOG[name]


def load_model(name: str | Path) -> ModelSpec:
    """A catalog model by name, or a model file.

    Parameters
    ----------
    name : str or Path
        One of `model_names()`, or the path of a JSON file (`ModelSpec.to_json`).

    Raises
    ------
    InvalidModel
        If there is neither a model nor a file of that name, or the file is no model.
    """
    text = str(name)
    if text in CATALOG:
        data = (resources.files("autosync_lab.model.catalog") / "data" / f"{text}.json").read_text()
        spec = ModelSpec.from_json(json.loads(data), where=text)
        return replace(spec, tracer=lambda: capture_catalog_model(text).traced)
    if not (isinstance(name, Path) or "/" in text or text.endswith(".json") or Path(text).exists()):
        raise InvalidModel("no model and no file has this name", received=text, valid=model_names())
    path = Path(name)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidModel("a model file is at most 64 MiB", where=text, received=path.stat().st_size)
        document = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidModel(f"this is no JSON: {error}", where=text) from None
    except OSError as error:
        raise InvalidModel(f"cannot be read: {error.strerror}", where=text) from None
    return ModelSpec.from_json(document, where=text)


def capture_catalog_model(name: str, **options: Any) -> ModelSpec:
    """Build a catalog model with Keras and capture its step.

    Parameters
    ----------
    name : str
        One of `model_names()`.
    **options
        In place of the card's, such as `dtype="float64"` or a smaller `batch`.
    """
    card = model_card(name)
    module, function = card.recipe.split(":")
    recipe = getattr(import_module(f"autosync_lab.model.catalog.{module}"), function)
    model, loss, batches = recipe(**(card.options | options))
    return ModelSpec.from_keras(model, loss, batches, name=name)
