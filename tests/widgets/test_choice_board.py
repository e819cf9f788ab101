from typing import Any

from autosync_lab.model import Variable
from autosync_widgets.choice_board import ChoiceBoard
from autosync_widgets.figures.space_choices import AspectChoices, Choice, VariableChoices
from autosync_widgets.figures.space_stages import LOCK

CHOICES = VariableChoices(
    Variable("v", (4, 2)),
    (
        AspectChoices(
            "synchronizer",
            (
                Choice("parameter server", "", (("synchronizer", "ps"),), locked=True),
                Choice("all-reduce", "sparse-to-ps", (("synchronizer", "ar"),)),
                Choice("both, by shard", "sparse-to-ps"),
            ),
            (("sparse-to-ps", "rows"),),
            "a note",
        ),
    ),
)


def board() -> tuple[ChoiceBoard, list[Any]]:
    heard: list[Any] = []
    made = ChoiceBoard(lambda *chosen: heard.append(chosen), lambda name: heard.append(name))
    made.show(CHOICES)
    return made, heard


def test_it_says_what_is_left_and_why_the_rest_is_not() -> None:
    data = board()[0].board
    (aspect,) = data["aspects"]
    assert (data["variable"], data["facts"]) == ("v", "4 x 2, float32, 32 bytes.")
    assert (aspect["count"], aspect["note"]) == ("1 of 3 left", "a note")
    assert aspect["reasons"] == [{"by": "sparse-to-ps", "why": "rows", "count": 2}]
    assert [(c["locked"], c["lockable"], c["by"]) for c in aspect["choices"]] == [
        (True, True, ""),
        (False, False, "sparse-to-ps"),
        (False, False, "sparse-to-ps"),
    ]


def test_clicks_are_told_with_what_to_lock() -> None:
    made, heard = board()
    click = {"say": "choose", "variable": "v", "aspect": "synchronizer", "choice": "parameter server"}
    made._hear(None, click, [])
    made._hear(None, {"say": "unlock", "variable": "v"}, [])
    assert heard == [("v", {"synchronizer": "ps"}), "v"]


def test_what_a_lock_took_can_be_locked_instead() -> None:
    aspect = AspectChoices("synchronizer", (Choice("all-reduce", LOCK, (("synchronizer", "ar"),)),), ((LOCK, "so"),))
    made, _ = board()
    made.show(VariableChoices(Variable("v", (4,)), (aspect,)))
    assert made.board["aspects"][0]["choices"][0]["lockable"]


def test_what_a_page_may_not_ask_is_not_done() -> None:
    made, heard = board()
    click = {"say": "choose", "variable": "v", "aspect": "synchronizer", "choice": "parameter server"}
    wrong = ({"variable": "other"}, {"aspect": "colour"}, {"choice": "both, by shard"}, {"choice": 3}, {"say": "hello"})
    for change in wrong:
        made._hear(None, click | change, [])
    made.show(None)
    made._hear(None, click, [])
    assert (heard, made.board) == ([], {})
