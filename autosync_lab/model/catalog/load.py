"""Loading models: their variables from data files, the step that workers run from Keras when it is first asked for."""

from dataclasses import replace
from functools import lru_cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from autosync_lab.errors import InvalidModel, MissingExtra
from autosync_lab.model.catalog.card import CATALOG, model_card, model_names
from autosync_lab.model.model_file import parse_model, read_model
from autosync_lab.model.quiet_tensorflow import import_tensorflow
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.traced import TracedModel


def load_model(name: str | Path) -> ModelSpec:
    """A catalog model by name, or a model file.

    Parameters
    ----------
    name : str or Path
        One of `model_names()`, or the path of a JSON file (`ModelSpec.to_json`).

    Returns
    -------
    ModelSpec
        A catalog model can be run (`traced` builds it with Keras on first use); a file describes variables only.

    Raises
    ------
    InvalidModel
        If there is neither a model nor a file of that name, or the file is no model.
    """
    text = str(name)
    if text in CATALOG:
        data = (resources.files("autosync_lab.model.catalog") / "data" / f"{text}.json").read_bytes()
        spec = parse_model(data, where=text)
        trace = _trace_bench if CATALOG[text].bench else _trace
        return replace(spec, tracer=lambda: trace(text))
    if isinstance(name, Path) or "/" in text or text.endswith(".json") or Path(text).exists():
        return read_model(Path(text))
    raise InvalidModel("no model and no file has this name", received=text, valid=model_names())


def load_bench(name: str, **options: Any) -> ModelSpec:
    """A variant of a bench model, captured now.

    Parameters
    ----------
    name : str
        A bench model's name.
    **options
        `dtype="float64"` for a model whose data-parallel steps can be compared to the last digits (its first values are
        those of the float32 model), `batch` for another batch size, `batches` for another number of different batches.

    Raises
    ------
    InvalidModel
        If it is no bench model.
    """
    bench = [card.name for card in CATALOG.values() if card.bench]
    if name not in bench:
        raise InvalidModel("this is no bench model", received=name, valid=bench)
    return capture_catalog_model(name, **options)


def capture_catalog_model(name: str, **options: Any) -> ModelSpec:
    """Build a catalog model with Keras and capture its step.

    Parameters
    ----------
    name : str
        One of `model_names()`.
    **options
        In place of the card's: `dtype`, `batch`, `batches`.

    Raises
    ------
    InvalidModel
        If there is no such model.
    MissingExtra
        If TensorFlow or Keras is not installed.
    """
    card = model_card(name)
    import_tensorflow()
    for package in ("tensorflow", "keras"):
        try:
            import_module(package)
        except ModuleNotFoundError:
            raise MissingExtra(package, "tensorflow") from None
    recipe = import_module(f"autosync_lab.model.catalog.{card.recipe}")
    model, loss, batches = recipe.build(**(card.options | options))
    return ModelSpec.from_keras(model, loss, batches, name=name)


def _trace(name: str) -> TracedModel:
    captured, described = capture_catalog_model(name), load_model(name)
    if captured.hash != described.hash:
        raise InvalidModel(
            "this version of Keras builds other variables than the catalog lists; write the catalog anew with "
            "tools/make_catalog.py",
            where=f"model {name!r}",
        )
    return captured.traced


@lru_cache(maxsize=8)
def _trace_bench(name: str) -> TracedModel:
    return _trace(name)
