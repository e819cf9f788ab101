"""`StudyStore`: the tables of a store that hold studies."""

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from autosync_lab.errors import InvalidInput
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study.event import EventKind, StudyEvent
from autosync_lab.study.history import Proposal, Role, Round, StudyTrial
from autosync_lab.study.rows import json_text
from autosync_lab.study.store import TrialStore, insert_strategy, insert_trial

Happening = tuple[EventKind, dict[str, Any]]
"""Kind and data of an event that has no number yet."""


class StudyStore:
    """Reads and writes studies in a trial store. Everything of one call is stored at once or not at all.

    Parameters
    ----------
    trials : TrialStore
        Also one that is open for reading only, or of a version that had no studies: then there are none.
    """

    def __init__(self, trials: TrialStore) -> None:
        self.trials = trials
        self._database = trials.database

    def names(self) -> tuple[str, ...]:
        """Names of the studies, oldest first."""
        return tuple(row["name"] for row in self._read("SELECT name FROM studies ORDER BY created, rowid"))

    def config(self, study: str) -> dict[str, Any] | None:
        """What decides a study's proposals, as it was created; None if there is no such study."""
        rows = self._read("SELECT config FROM studies WHERE name = ?", study)
        if not rows:
            return None
        config = self._json(rows[0]["config"], study)
        if not isinstance(config, dict):
            raise self._damaged(study, "its configuration is no object")
        return config

    def create(self, study: str, config: dict[str, Any]) -> bool:
        """Add a study; False if one of this name is there already, which stays as it is."""
        with self._database.transaction() as connection:
            done = connection.execute(
                "INSERT OR IGNORE INTO studies VALUES (?, ?, ?)", (study, json_text(config), _now())
            )
            return done.rowcount == 1

    def rounds(self, study: str) -> tuple[Round, ...]:
        """All rounds of a study, in order."""
        proposals: dict[int, list[Proposal]] = {}
        strategies: dict[str, Strategy] = {}
        for row in self._read(
            "SELECT round, strategy_id, predicted_s, document FROM study_proposals"
            " JOIN strategies ON id = strategy_id WHERE study = ? ORDER BY round, position",
            study,
        ):
            key = row["strategy_id"]
            if key not in strategies:
                strategies[key] = Strategy.loads(row["document"], where=f"{self.trials.path}: strategy {key}")
            predicted = math.nan if row["predicted_s"] is None else float(row["predicted_s"])
            proposals.setdefault(row["round"], []).append(Proposal(strategies[key], predicted))
        return tuple(
            Round(row["round"], tuple(self._json(row["asks"], study)), tuple(proposals.get(row["round"], ())))
            for row in self._read("SELECT round, asks FROM study_rounds WHERE study = ? ORDER BY round", study)
        )

    def add_round(self, study: str, round_: Round, happening: Happening) -> StudyEvent:
        """Write down what was proposed, before any of it is measured."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO study_rounds VALUES (?, ?, ?)", (study, round_.number, json_text(round_.asks))
            )
            for position, proposal in enumerate(round_.proposals):
                insert_strategy(connection, proposal.strategy)
                predicted = None if math.isnan(proposal.predicted_s) else proposal.predicted_s
                connection.execute(
                    "INSERT INTO study_proposals VALUES (?, ?, ?, ?, ?)",
                    (study, round_.number, position, proposal.strategy.id, predicted),
                )
            return _add_event(connection, study, happening)

    def records(self, study: str, since: int = 0) -> list[StudyTrial]:
        """Trials of a study with a number above `since`, in order."""
        links = {
            row["trial_id"]: row
            for row in self._read(
                "SELECT t.trial_id, t.number, t.role, t.round, p.predicted_s FROM study_trials AS t"
                " JOIN trials ON trials.id = t.trial_id"
                " LEFT JOIN study_proposals AS p ON p.study = t.study AND p.round = t.round"
                " AND p.strategy_id = trials.strategy_id AND t.role = 'proposal'"
                " WHERE t.study = ? AND t.number > ?",
                study,
                since,
            )
        }
        if not links:
            return []
        found = self.trials.of_study(study, since)
        records = []
        for trial in found:
            if trial.id not in links:
                continue
            row = links[trial.id]
            predicted = math.nan if row["predicted_s"] is None else float(row["predicted_s"])
            records.append(StudyTrial(row["number"], row["role"], row["round"], trial, predicted))
        return sorted(records, key=lambda r: r.number)

    def add_trial(
        self, study: str, role: Role, round_: int, trial: Trial, happenings: Iterable[Happening]
    ) -> tuple[int, list[StudyEvent]]:
        """Write down a trial and what it means for the study; its number and the events."""
        with self._database.transaction() as connection:
            insert_trial(connection, trial)
            number = _next(connection, "study_trials", study)
            connection.execute(
                "INSERT INTO study_trials VALUES (?, ?, ?, ?, ?)", (study, number, trial.id, role, round_)
            )
            events = [
                _add_event(connection, study, (kind, {"number": number} | data if kind == "trial-ended" else data))
                for kind, data in happenings
            ]
        return number, events

    def add_event(self, study: str, happening: Happening) -> StudyEvent:
        """Write down an event."""
        with self._database.transaction() as connection:
            return _add_event(connection, study, happening)

    def events(self, study: str, since: int = 0, kinds: Sequence[EventKind] = ()) -> list[StudyEvent]:
        """Events with a number above `since`, of some kinds or of all, in order."""
        marks = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        rows = self._read(
            f"SELECT * FROM study_events WHERE study = ? AND number > ?{marks} ORDER BY number", study, since, *kinds
        )
        return [StudyEvent(r["number"], r["time"], r["kind"], self._json(r["data"], study)) for r in rows]

    def last_event(self, study: str, kinds: Sequence[EventKind]) -> StudyEvent | None:
        """The newest event of some kinds."""
        rows = self._read(
            "SELECT max(number) AS number FROM study_events WHERE study = ?"
            f" AND kind IN ({', '.join('?' * len(kinds))})",
            study,
            *kinds,
        )
        number = rows[0]["number"] if rows else None
        return None if number is None else self.events(study, number - 1, kinds)[0]

    def count_events(self, study: str, kind: EventKind) -> int:
        """How many events of a kind there are."""
        rows = self._read("SELECT count(*) AS n FROM study_events WHERE study = ? AND kind = ?", study, kind)
        return int(rows[0]["n"]) if rows else 0

    def _read(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        # A file of version 1 that is open for reading only has no tables of studies.
        return self._database.read(sql, values) if self._database.version > 1 else []

    def _json(self, text: str, study: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise self._damaged(study, str(error)) from None

    def _damaged(self, study: str, why: str) -> InvalidInput:
        return InvalidInput(f"a study in this store is damaged ({why})", where=str(self.trials.path), received=study)


def _add_event(connection: sqlite3.Connection, study: str, happening: Happening) -> StudyEvent:
    kind, data = happening
    text = json_text(data)
    # What a listener gets is what a reader gets.
    event = StudyEvent(_next(connection, "study_events", study), _now(), kind, json.loads(text))
    connection.execute(
        "INSERT INTO study_events VALUES (?, ?, ?, ?, ?)", (study, event.number, event.time, event.kind, text)
    )
    return event


def _next(connection: sqlite3.Connection, table: str, study: str) -> int:
    return int(
        connection.execute(f"SELECT coalesce(max(number), 0) + 1 FROM {table} WHERE study = ?", (study,)).fetchone()[0]
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
