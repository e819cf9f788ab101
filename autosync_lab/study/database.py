"""`Database`: one SQLite file that several processes read while one of them writes."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from autosync_lab.errors import InvalidInput, StoreUnavailable
from autosync_lab.study.schema import APPLICATION_ID, CREATE, SCHEMA_VERSION, UPGRADES

LOCK_PATIENCE_S = 60.0
"""How long a writer waits for another one. A transaction takes milliseconds, so only a stopped process lasts longer."""

_HEADER_BYTES = 100

_LOOKS = 5
"""How often a file is looked at before it is called damaged: another process may be writing it at this moment."""


class Database:
    """A connection to a store's file; may be used from several threads.

    Parameters
    ----------
    path : Path or None
        Created if it does not exist, brought to the newest version if it is of an older one. None is in memory.

    Raises
    ------
    InvalidInput
        If the folder does not exist, or the file is no store of a version that this one reads. Such a file is left
        as it is.
    StoreUnavailable
        If the system refuses.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        if path is None:
            self._connect("file::memory:", self._create)
        else:
            _check_file(path)
            self._connect(f"{path.absolute().as_uri()}?mode=rwc", self._create, self._journal_ahead)

    @classmethod
    def open_readonly(cls, path: Path) -> Self:
        """Open an existing file for reading only, also where it or its folder cannot be written.

        Raises
        ------
        InvalidInput
            If there is no such file, or it is no store of a version that this one reads.
        StoreUnavailable
            If the system refuses.
        """
        database = cls.__new__(cls)
        database.path = path
        if path.parent.is_dir() and not path.exists():
            raise InvalidInput("there is no trial store of this name", received=str(path))
        _check_file(path)
        uri = path.absolute().as_uri()
        try:
            # SQLite's own read-only mode would leave its log files behind.
            database._connect(f"{uri}?mode=rw", database._refuse_writing)
        except StoreUnavailable:
            # Write-ahead logging needs a small file beside the store even to read it. Where that cannot be made there
            # is no writer either, and the store can be read as a file that does not change.
            database._connect(f"{uri}?immutable=1")
        return database

    @property
    def version(self) -> int:
        """Schema version of the file, which a writer may raise at any moment."""
        with self._lock, self._system_errors():
            return self._schema_version()

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """All rows that a query gives."""
        with self._lock, self._system_errors():
            return self._live().execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what is written inside it is on the disk when it ends, or nothing.

        Raises
        ------
        InvalidInput
            If the store is closed or open for reading only.
        StoreUnavailable
            If the system refuses.
        """
        with self._lock, self._system_errors():
            connection = self._live()
            # IMMEDIATE: a transaction that starts as a reader cannot wait for its turn to write.
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError) and "readonly" in str(error):
                    raise InvalidInput("this trial store can only be read", received=str(self.path)) from None
                raise

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        with self._lock:
            self._connection.close()
            self._open = False

    def _connect(self, uri: str, *prepare: Callable[[], None]) -> None:
        self._lock = threading.RLock()
        with self._system_errors():
            self._connection = sqlite3.connect(
                uri, uri=True, timeout=LOCK_PATIENCE_S, isolation_level=None, check_same_thread=False
            )
            self._open = True
            try:
                self._connection.row_factory = sqlite3.Row
                for step in prepare:
                    step()
                _require_version(self._schema_version(), self.path)
            except BaseException:
                self.close()
                raise

    def _create(self) -> None:
        # FULL: a commit is on the disk when it returns, so that not even a power cut loses a trial.
        self._connection.execute("PRAGMA synchronous = FULL")
        if self._schema_version() >= SCHEMA_VERSION:
            return
        # Tables and header marks are written before write-ahead logging is switched on, so they are in the file itself
        # and never only in its log: any program can tell what the file is from its first bytes.
        with self.transaction() as connection:
            version = self._schema_version()
            statements = (
                CREATE if version == 0 else [s for old in range(version, SCHEMA_VERSION) for s in UPGRADES[old]]
            )
            for statement in statements:
                connection.execute(statement)

    def _refuse_writing(self) -> None:
        self._connection.execute("PRAGMA query_only = ON")

    def _journal_ahead(self) -> None:
        # SQLite does not wait for a lock while it switches the journal; another process that is opening the same new
        # file holds it for an instant.
        give_up = time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise
                time.sleep(0.01)

    def _schema_version(self) -> int:
        return int(self._live().execute("PRAGMA user_version").fetchone()[0])

    def _live(self) -> sqlite3.Connection:
        if not self._open:
            raise InvalidInput("this trial store is closed", received=str(self.path))
        return self._connection

    @contextmanager
    def _system_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if "not a database" in str(error):
                raise InvalidInput("this file is no trial store", received=str(self.path)) from None
            raise StoreUnavailable(str(self.path), str(error)) from error
        except OSError as error:
            raise StoreUnavailable(str(self.path), str(error)) from error


def _check_file(path: Path) -> None:
    """Look at the file's marks, so that a file of another program is not even opened for writing.

    SQLite looks, not Python: when a process closes a file that it opened itself, the system drops all locks which the
    process has on it (https://sqlite.org/howtocorrupt.html, section 2.2), those of its open stores too.
    """
    if path.is_dir():
        raise InvalidInput("a trial store is a file, not a folder", received=str(path))
    if not path.parent.is_dir():
        raise InvalidInput("the folder of a trial store must exist", received=str(path))
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreUnavailable(str(path), str(error)) from error
    if size == 0:
        return
    if size < _HEADER_BYTES:
        raise InvalidInput("this file is no trial store (it is no SQLite database)", received=str(path))
    application, version = _marks(path)
    if application != APPLICATION_ID:
        raise InvalidInput("this file is no trial store (it is a database of another program)", received=str(path))
    _require_version(version, path)


def _marks(path: Path) -> tuple[int, int]:
    """Application id and user version of a file, read without locks and without leaving anything beside it."""
    look = 0
    while True:
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as connection:
                application = connection.execute("PRAGMA application_id").fetchone()[0]
                return int(application), int(connection.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error as error:
            if "not a database" in str(error):
                raise InvalidInput(
                    "this file is no trial store (it is no SQLite database)", received=str(path)
                ) from None
            look += 1
            if look == _LOOKS:
                raise StoreUnavailable(str(path), str(error)) from error
            time.sleep(0.02)


def _require_version(version: int, path: Path | None) -> None:
    if not 1 <= version <= SCHEMA_VERSION:
        raise InvalidInput(
            f"this version reads trial stores of versions 1 to {SCHEMA_VERSION}", where=str(path), received=version
        )
