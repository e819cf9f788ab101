import json
import os
from pathlib import Path
from typing import Any

import pytest

from autosync_lab import InvalidInput, load_model
from autosync_lab.model import model_file

GOOD: dict[str, Any] = {
    "format": "autosync-lab/model",
    "version": 1,
    "name": "mine",
    "batch_size": 4,
    "variables": [{"name": "w", "shape": [3, 2]}, {"name": "e", "shape": [9, 2], "sparse": True, "touched_rows": 2}],
}


def test_a_file_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(GOOD))
    for name in (path, str(path)):
        model = load_model(name)
        assert model.name == "mine"
        assert [v.shape for v in model.variables] == [(3, 2), (9, 2)]
        assert model.variables[1].touched_rows == 2


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a model file is an object"),
        ({}, "this is no model file"),
        (GOOD | {"format": "x"}, "this is no model file"),
        (GOOD | {"version": 2}, "of version 1"),
        ({k: v for k, v in GOOD.items() if k != "batch_size"}, "'batch_size' is missing"),
        (GOOD | {"name": 3}, "`name` is a text"),
        (GOOD | {"batch_size": "4"}, "`batch_size` is a whole number"),
        (GOOD | {"batch_size": True}, "`batch_size` is a whole number"),
        (GOOD | {"batch_size": 0}, "at least one example"),
        (GOOD | {"flops": "many"}, "`flops` is a number"),
        (GOOD | {"compute_s": -1}, "`compute_s` is not negative"),
        (GOOD | {"notes": "one"}, "`notes` is a list"),
        (GOOD | {"notes": [1]}, "a note is a text"),
        (GOOD | {"variables": {}}, "`variables` is a list"),
        (GOOD | {"variables": []}, "at least one trainable variable"),
        (GOOD | {"variables": ["w"]}, "a variable is an object"),
        (GOOD | {"variables": [{"name": "w"}]}, "a name and a shape"),
        (GOOD | {"variables": [{"name": "w", "shape": [1], "shap": 1}]}, "did you mean 'shape'"),
        (GOOD | {"variables": [{"name": "w", "shape": 3}]}, "`shape` is a list"),
        (GOOD | {"variables": [{"name": "w", "shape": [1.5]}]}, "a dimension is a whole number"),
        (GOOD | {"variables": [{"name": "w", "shape": [None]}]}, "a dimension is a whole number"),
        (GOOD | {"variables": [{"name": "w", "shape": [10**40]}]}, "at most"),
        (GOOD | {"variables": [{"name": "w", "shape": [2], "dtype": 3}]}, "`dtype` is a text"),
        (GOOD | {"variables": [{"name": "w", "shape": [2], "ready": None}]}, "`ready` is a number"),
        (GOOD | {"variables": [{"name": "w", "shape": [2], "sparse": 1}]}, "`sparse` is true or false"),
    ],
)
def test_wrong_documents_are_told_clearly(document: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match=message):
        load_model(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        json.dumps(GOOD | {"flops": 1}).replace('"flops": 1', '"flops": NaN').encode(),
        json.dumps(GOOD | {"flops": 1}).replace('"flops": 1', '"flops": 1e999').encode(),
    ],
    ids=["empty", "no utf-8", "cut off", "deep", "nan", "infinite"],
)
def test_wrong_bytes_are_told_clearly(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"model\.json"):
        load_model(path)


def test_what_is_no_readable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        load_model(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match="regular file"):
        load_model(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="regular file"):
        load_model(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match=r"no path|No such file"):
        load_model("a/\0.json")
    monkeypatch.setattr(model_file, "MAX_FILE_BYTES", 10)
    (tmp_path / "big.json").write_text(json.dumps(GOOD))
    with pytest.raises(InvalidInput, match="at most 10 bytes"):
        load_model(tmp_path / "big.json")


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'vgg-mini'"):
        load_model("vgg_mini")
