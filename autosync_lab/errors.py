"""Every error that AutoSync Lab raises on purpose, under one root."""

import difflib
import reprlib
from collections.abc import Iterable

MOST_VALID = 40
"""Valid choices that a message lists; a model may have hundreds of variables."""


class _ShortRepr(reprlib.Repr):
    """Files are written by anyone: what they hold must not make a message of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 8
        self.maxstring = self.maxother = 200

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write integers of thousands of digits.
        return super().repr_int(x, level) if x.bit_length() < 1000 else f"a number of {x.bit_length()} bits"


_short = _ShortRepr()


class AutoSyncLabError(Exception):
    """Root of all errors raised on purpose by this package."""


class InvalidInput(AutoSyncLabError, ValueError):
    """The caller's input breaks a rule; the message says which, what was received and what is valid.

    Parameters
    ----------
    message : str
        The rule that was broken.
    where : str, optional
        What was being read: a file, a field, a variable.
    received : object, optional
        The offending value.
    valid : iterable of str, optional
        The valid choices; the closest one to `received` is suggested.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        received: object = None,
        valid: Iterable[str] | None = None,
    ) -> None:
        self.rule = message
        self.where = where
        self.received = received
        self.valid = tuple(valid) if valid is not None else None
        super().__init__(self._text())

    def _text(self) -> str:
        text = f"{self.where}: {self.rule}" if self.where else self.rule
        if self.received is not None:
            text += f" (received {_short.repr(self.received)})"
        if self.valid is not None:
            # A scalar may be a misspelt choice; a whole document is none.
            wrong = str(self.received)[:200] if isinstance(self.received, str | bool | float) else ""
            close = difflib.get_close_matches(wrong, self.valid, n=1)
            if close:
                text += f"; did you mean {close[0]!r}?"
            text += self._choices()
        return text

    def _choices(self) -> str:
        if not self.valid:
            return " There are no valid choices."
        more = len(self.valid) - MOST_VALID
        return f" Valid: {', '.join(self.valid[:MOST_VALID])}{f' and {more} more' if more > 0 else ''}."


class InvalidModel(InvalidInput):
    """A model cannot be described or captured."""


class InvalidCluster(InvalidInput):
    """A cluster file or specification breaks a rule."""


class InvalidStrategy(InvalidInput):
    """A strategy breaks a rule for its model or cluster."""


class MissingExtra(AutoSyncLabError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The import name that is missing.
    extra : str
        The extra of this package that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed; install it with: pip install 'autosync-lab[{extra}]'")


class ClusterUnavailable(AutoSyncLabError):
    """A cluster's workers could not be started, or are gone for good.

    Parameters
    ----------
    message : str
        What failed.
    stage : str
        The stage of the start that failed.
    stderr_tail : str, optional
        The end of what the failing process wrote.
    """

    def __init__(self, message: str, *, stage: str, stderr_tail: str = "") -> None:
        self.stage = stage
        self.stderr_tail = stderr_tail
        text = f"{message} (stage: {stage})"
        if stderr_tail:
            text += f"\n{stderr_tail}"
        super().__init__(text)


class StoreUnavailable(AutoSyncLabError):
    """The system does not let a trial store be read or written: disk full, locked, no permission, damaged.

    Parameters
    ----------
    path : str
        The store's file.
    reason : str
        What the system said.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"trial store {path}: {reason}")
