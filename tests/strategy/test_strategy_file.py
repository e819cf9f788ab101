"""A strategy's file is read in either form, whatever it is called."""

from pathlib import Path

import pytest

import autosync_lab as asl
from autosync_lab.strategy import AllReduce, Strategy, VariableStrategy, read_autodist_strategy, read_strategy

AUTODIST = Path(__file__).parents[1] / "data" / "autodist" / "strategy-released.pb"
STRATEGY = Strategy((VariableStrategy("w", (AllReduce(0),)),), 2)


@pytest.mark.parametrize("before", ["", "\n", "\n\n", "  \r\n"])
def test_json(before: str, tmp_path: Path) -> None:
    (tmp_path / "s").write_text(before + STRATEGY.dumps())
    assert read_strategy(tmp_path / "s") == STRATEGY


def test_autodist(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(AUTODIST.read_bytes())
    assert read_strategy(tmp_path / "s.json") == read_autodist_strategy(AUTODIST).strategy


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        (b"", "no JSON"),
        (b"\xff\xfe", "text in UTF-8"),
        (b"\n\x03abc\x99", "no AutoDist strategy file"),
    ],
)
def test_neither(content: bytes | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(asl.InvalidInput, match=words) as caught:
        read_strategy(path)
    assert str(path) in str(caught.value)
