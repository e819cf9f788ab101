from typing import Any

import ipywidgets
import pytest

from autosync_lab.errors import InvalidInput
from autosync_widgets import GuessFirst
from autosync_widgets.panels.guess_first import verdict

OPTIONS = ["ps", "all-reduce"]


def click(guess: GuessFirst) -> None:
    """Click, and answer as the page does."""
    guess._commit.click()
    guess._round_trip._answer(guess._round_trip, {"answer": guess._round_trip._number}, [])


def test_nothing_is_revealed_before_the_guess() -> None:
    asked: list[str] = []

    def answer() -> str:
        asked.append("answer")
        return "all-reduce"

    guess = GuessFirst("Which?", answer, OPTIONS, reveal=lambda: asked.append("reveal") or ipywidgets.Label("why"))
    click(guess)
    assert "Choose an answer first" in guess._verdict.value
    assert (asked, guess.committed, guess._below.children) == ([], None, ())
    guess._field.value = "ps"
    click(guess)
    assert "You guessed: ps. The answer is: all-reduce." in guess._verdict.value
    assert (asked, guess.committed) == (["answer", "reveal"], "ps")
    assert guess._below.children[0].value == "why"


def test_a_guess_cannot_be_taken_back() -> None:
    guess = GuessFirst("Which?", "ps", OPTIONS, reveal="because <b>")
    guess.commit("ps")
    guess.commit("all-reduce")
    assert guess.committed == "ps"
    assert "Right: ps." in guess._verdict.value
    assert guess._field.disabled
    assert guess._commit.disabled
    assert guess._below.children[0].value == "because &lt;b&gt;"


def test_a_number_is_asked_for_without_options() -> None:
    guess = GuessFirst("How much?", 2.0, unit="s")
    for nonsense in ("", "many", "inf"):
        guess._field.value = nonsense
        click(guess)
        assert "Write a number first" in guess._verdict.value
    guess._field.value = "4"
    click(guess)
    assert (guess.committed, guess._below.children) == (4.0, ())
    assert "You guessed 4 s; it is 2 s. You were off by a factor of 2." in guess._verdict.value


@pytest.mark.parametrize(
    ("guess", "right", "words"),
    [
        (2.0, 2.1, "as good as right"),
        (0.0, 0.0, "and that is right"),
        (0.0, 3.0, "You guessed 0; it is 3."),
        (1.0, 30.0, "off by a factor of 30."),
        (2.0, 2000.0, "off by a factor of 1,000."),
        (5.0, 2.0, "off by a factor of 2.5."),
    ],
)
def test_numbers_are_judged_by_their_factor(guess: float, right: float, words: str) -> None:
    assert words in verdict(guess, right)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"answer": "ps", "options": ["ps"]}, "two or more"),
        ({"answer": "horovod", "options": OPTIONS}, "one of the options"),
    ],
)
def test_questions_that_cannot_be_answered_are_errors(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        GuessFirst("Which?", **given)


def test_a_guess_is_one_of_the_options() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'all-reduce'"):
        GuessFirst("Which?", "ps", OPTIONS).commit("all-reduc")
