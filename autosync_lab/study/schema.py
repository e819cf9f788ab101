"""The tables of a trial store.

Every column is plain SQL, so `pandas.read_sql` and any SQLite browser can read a store without this package. A NaN is
NULL (SQLite has none); inside a JSON column a NaN is null and an infinity is 9e999, a JSON number beyond every double.

trials
    One row per trial, in the order they ended; columns as the fields of `Trial`. `step_time_s` and its quartiles are
    derived from `step_times_s` so that they can be sorted by.
strategies
    Each different strategy once, in its versioned JSON form.
step_times
    A view: seconds of every timed step of every worker.
node_bytes
    A view: bytes per timed step that every node sent and received.
studies
    One row per study, by name; `config` is JSON: what decides its proposals.
study_rounds, study_proposals
    What a study's search was asked (`asks` is a JSON list of numbers) and proposed, in order, written before the first
    of a round is measured.
study_trials
    Which trials are of which study, numbered from 1 as they ended, and what for.
study_events
    What happened in a study, numbered from 1; `data` is JSON.

Version 1 had no studies.
"""

APPLICATION_ID = int.from_bytes(b"ASLt")
"""Marks the file's header (SQLite's `application_id`), so that no other program's database is taken for a store."""

SCHEMA_VERSION = 2
"""SQLite's `user_version` of the files that this version writes."""

_STUDIES = (
    """
    CREATE TABLE studies (
        name TEXT PRIMARY KEY,
        config TEXT NOT NULL,
        created TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE study_rounds (
        study TEXT NOT NULL REFERENCES studies (name),
        round INTEGER NOT NULL,
        asks TEXT NOT NULL,
        PRIMARY KEY (study, round)
    )
    """,
    """
    CREATE TABLE study_proposals (
        study TEXT NOT NULL REFERENCES studies (name),
        round INTEGER NOT NULL,
        position INTEGER NOT NULL,
        strategy_id TEXT NOT NULL REFERENCES strategies (id),
        predicted_s REAL,
        PRIMARY KEY (study, round, position)
    )
    """,
    """
    CREATE TABLE study_trials (
        study TEXT NOT NULL REFERENCES studies (name),
        number INTEGER NOT NULL,
        trial_id TEXT NOT NULL REFERENCES trials (id),
        role TEXT NOT NULL CHECK (role IN ('baseline', 'proposal', 'anchor', 'final')),
        round INTEGER NOT NULL,
        PRIMARY KEY (study, number)
    )
    """,
    """
    CREATE TABLE study_events (
        study TEXT NOT NULL REFERENCES studies (name),
        number INTEGER NOT NULL,
        time TEXT NOT NULL,
        kind TEXT NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (study, number)
    )
    """,
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

CREATE = (
    """
    CREATE TABLE strategies (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE trials (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        created TEXT NOT NULL,
        label TEXT NOT NULL,
        model TEXT NOT NULL,
        model_hash TEXT NOT NULL,
        cluster TEXT NOT NULL,
        cluster_hash TEXT NOT NULL,
        launcher TEXT NOT NULL,
        simulated INTEGER NOT NULL CHECK (simulated IN (0, 1)),
        strategy_id TEXT REFERENCES strategies (id),
        status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'stopped')),
        stage TEXT NOT NULL,
        step_time_s REAL,
        step_time_q25_s REAL,
        step_time_q75_s REAL,
        setup_s REAL,
        total_s REAL,
        bound_s REAL,
        steps INTEGER NOT NULL,
        warmup INTEGER NOT NULL,
        seed INTEGER NOT NULL,
        batch_size INTEGER NOT NULL,
        optimizer TEXT NOT NULL,
        learning_rate REAL,
        error TEXT NOT NULL,
        stderr_tail TEXT NOT NULL,
        exit_code INTEGER,
        step_times_s TEXT NOT NULL,
        bytes_sent TEXT,
        bytes_received TEXT,
        versions TEXT NOT NULL,
        losses TEXT NOT NULL,
        events TEXT NOT NULL
    )
    """,
    "CREATE INDEX trials_by_model_and_cluster ON trials (model_hash, cluster_hash)",
    """
    CREATE VIEW step_times AS
    SELECT trials.id AS trial_id, step.key AS step, worker.key AS worker, worker.value AS seconds
    FROM trials, json_each(trials.step_times_s) AS step, json_each(step.value) AS worker
    """,
    """
    CREATE VIEW node_bytes AS
    SELECT trials.id AS trial_id, sent.key AS node, sent.value AS bytes_sent, received.value AS bytes_received
    FROM trials, json_each(trials.bytes_sent) AS sent
    LEFT JOIN json_each(trials.bytes_received) AS received ON received.key = sent.key
    """,
    f"PRAGMA application_id = {APPLICATION_ID}",
    *_STUDIES,
)
"""What makes a new file."""

UPGRADES: dict[int, tuple[str, ...]] = {1: _STUDIES}
"""What makes a file of the next version of one of an older version."""
