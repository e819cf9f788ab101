import ast
import json

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidStrategy
from autosync_lab.model import load_model
from autosync_lab.strategy import Strategy, build_strategy
from autosync_lab.strategy.autodist import parse_autodist_strategy
from autosync_widgets.strategy_file import ChosenStrategy, autodist_file, horovod_file, json_file

MODEL, CLUSTER = load_model("vgg-mini"), load_cluster("emulated-4")


def chosen(builder: str, label: str = "my own") -> ChosenStrategy:
    return ChosenStrategy(label, build_strategy(builder, MODEL, CLUSTER), MODEL, CLUSTER)


def test_json_can_be_read_again() -> None:
    one = chosen("byteps")
    file = json_file(one)
    assert file.name == "my-own-vgg-mini-emulated-4.json"
    assert Strategy.loads(file.text) == one.strategy
    assert json.loads(file.text)["id"] == one.strategy.id


def test_autodist_s_file_can_be_read_again() -> None:
    one = chosen("partitioned-ps")
    file = autodist_file(one)
    assert file.name == "my-own-vgg-mini-emulated-4.pb"
    assert parse_autodist_strategy(file.content).strategy == one.strategy


@pytest.mark.parametrize("label", ["my own", "1: schnell/ä", "best-0a1b"])
def test_horovod_s_module_can_be_imported_by_its_name(label: str) -> None:
    file = horovod_file(chosen("all-reduce", label))
    module = file.name.removesuffix(".py")
    assert module.isidentifier()
    assert module.isascii()
    assert f"import {module}  # starts Horovod" in (ast.get_docstring(ast.parse(file.text)) or "")


def test_what_a_form_cannot_say_is_refused_with_the_variable() -> None:
    with pytest.raises(InvalidStrategy, match=MODEL.variables[0].name):
        horovod_file(chosen("ps"))
    with pytest.raises(InvalidStrategy, match="every all-reduced shard is in a group"):
        autodist_file(chosen("horovod"))
