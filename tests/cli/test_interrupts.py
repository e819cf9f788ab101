import signal

import pytest

from autosync_lab.cli.interrupts import one_interrupt


def work(number: signal.Signals, more: int) -> list[str]:
    """Be interrupted, and `more` times again on the way out; what was reached in spite of it."""
    reached = []
    try:
        with one_interrupt():
            try:
                signal.raise_signal(number)
                reached.append("went on")
            finally:
                for _ in range(more):
                    signal.raise_signal(number)
                reached.append("closed")
    except KeyboardInterrupt:
        reached.append("left")
    return reached


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_ends_the_work_and_the_second_does_not_disturb_the_end(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    assert work(number, more=0) == ["closed", "left"]
    assert work(number, more=1) == ["closed", "left"]
    assert capsys.readouterr().err.count("closing the cluster") == 1


def test_a_third_one_ends_even_the_end() -> None:
    assert work(signal.SIGINT, more=2) == ["left"]


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with one_interrupt():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
