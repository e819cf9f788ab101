import threading

from autosync_widgets.throttle import Throttle


class Rest:
    """A rest between two actions that lasts until the test ends it."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.end = threading.Semaphore(0)
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.begun.release()
        self.end.acquire(timeout=10)


def test_what_is_asked_during_a_rest_is_done_once_after_it() -> None:
    done: list[int] = []
    rest = Rest()
    throttle = Throttle(lambda: done.append(1), 0.5, rest)
    throttle.ask()
    assert rest.begun.acquire(timeout=10)
    assert len(done) == 1
    for _ in range(100):
        throttle.ask()
    assert len(done) == 1
    rest.end.release()
    assert rest.begun.acquire(timeout=10)
    assert len(done) == 2
    throttle.close()
    rest.end.release()
    assert rest.seconds == [0.5, 0.5]


def test_an_action_that_fails_does_not_end_the_later_ones(caplog) -> None:
    rest = Rest()
    outcomes = iter([ValueError("broken"), None])
    done: list[int] = []

    def action() -> None:
        outcome = next(outcomes)
        if outcome:
            raise outcome
        done.append(1)

    throttle = Throttle(action, 0.5, rest)
    throttle.ask()
    assert rest.begun.acquire(timeout=10)
    assert "broken" in caplog.text
    throttle.ask()
    rest.end.release()
    assert rest.begun.acquire(timeout=10)
    assert done == [1]
    throttle.close()
    rest.end.release()


def test_nothing_is_done_after_close() -> None:
    done: list[int] = []
    throttle = Throttle(lambda: done.append(1), 0.5)
    throttle.close()
    throttle.close()
    throttle.ask()
    assert done == []
