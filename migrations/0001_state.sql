-- The log. A run is recorded by an event with run_seq = 0, whose seq is the run's key in all tables;
-- its machine events are numbered from 1. Rows are only added. When a run is forgotten, the
-- digest of a body takes the body's place, so that the chain can still be checked.
CREATE TABLE events (
    seq          INTEGER PRIMARY KEY,
    run          INTEGER NOT NULL,
    run_seq      INTEGER NOT NULL,
    body_version INTEGER NOT NULL,
    body         TEXT,
    digest       BLOB,
    prev         BLOB NOT NULL,
    hash         BLOB NOT NULL,
    at           TEXT GENERATED ALWAYS AS (body ->> '$.at') VIRTUAL,
    kind         TEXT GENERATED ALWAYS AS (body ->> '$.event') VIRTUAL,
    CHECK ((body IS NULL) <> (digest IS NULL))
) STRICT;
CREATE UNIQUE INDEX events_of_run ON events (run, run_seq);
-- The events that are not written for each task of a run, and those of tasks that used something: a page of a large
-- run is read from them. The condition is repeated where they are read.
CREATE INDEX events_apart ON events (run, kind, run_seq)
    WHERE kind NOT IN ('attempt_started', 'attempt_ended', 'step_ended', 'check_completed', 'checks_passed', 'evidence_taken')
        OR body -> '$.usage' IS NOT NULL OR body -> '$.verdict.judgement' IS NOT NULL;

-- The texts of plans, gates and skills that runs execute, each once.
-- With a row id: where texts are in the tree of the digests, a search reads each long text that it passes.
CREATE TABLE source_texts (
    digest BLOB NOT NULL PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT;

-- Projections: these six tables can be rebuilt from the log. An item of -1 is no item.
CREATE TABLE runs (
    key               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    plan              TEXT NOT NULL,
    path              TEXT NOT NULL,
    params            TEXT NOT NULL,
    parent            TEXT,
    parent_attempt    TEXT,
    retry_of          TEXT,
    session           TEXT,
    created           INTEGER NOT NULL,
    config            TEXT NOT NULL,
    ended             INTEGER,
    outcome           TEXT,
    standing          TEXT NOT NULL DEFAULT 'unchecked',
    reason            TEXT NOT NULL DEFAULT '',
    failed_step       TEXT,
    counts            TEXT,
    outputs           TEXT,
    -- How many approval requests are open.
    pending_approvals INTEGER NOT NULL DEFAULT 0,
    -- How many checks passed, if the run was accepted with less than all.
    accepted          TEXT,
    -- The plan that undoes it, its parameters, and until when, if it can be undone.
    undo              TEXT
) STRICT;
CREATE INDEX runs_nested ON runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_of_undo ON runs (config ->> '$.undo_of') WHERE config ->> '$.undo_of' IS NOT NULL;
CREATE INDEX runs_of_session ON runs (session) WHERE session IS NOT NULL;

CREATE TABLE run_sources (
    run      INTEGER NOT NULL,
    position INTEGER NOT NULL,
    path     TEXT NOT NULL,
    text     BLOB NOT NULL REFERENCES source_texts (digest),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
    run             INTEGER NOT NULL,
    step            TEXT NOT NULL,
    item            INTEGER NOT NULL,
    item_key        TEXT,
    first_event     INTEGER NOT NULL,
    state           TEXT NOT NULL,
    standing        TEXT NOT NULL DEFAULT 'unchecked',
    attempts        INTEGER NOT NULL DEFAULT 0,
    started         INTEGER,
    ended           INTEGER,
    reason          TEXT NOT NULL DEFAULT '',
    failure_class   TEXT,
    allowed_to_fail INTEGER NOT NULL DEFAULT 0,
    cache_key       TEXT,
    reused_from     TEXT,
    outputs         TEXT,
    -- A file that changed after it was evidence of a verified result.
    stale           TEXT,
    PRIMARY KEY (run, step, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    run           INTEGER NOT NULL,
    step          TEXT NOT NULL,
    item          INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    first_event   INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    ended         INTEGER,
    exit          TEXT,
    failure_class TEXT,
    left_running  TEXT,
    PRIMARY KEY (run, step, item, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_left ON attempts (run) WHERE left_running IS NOT NULL;

CREATE TABLE checks (
    run     INTEGER NOT NULL,
    run_seq INTEGER NOT NULL,
    step    TEXT,
    item    INTEGER,
    attempt INTEGER,
    at      INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (run, run_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
    run     INTEGER NOT NULL,
    step    TEXT NOT NULL,
    item    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    path    TEXT NOT NULL,
    digest  TEXT NOT NULL,
    size    INTEGER NOT NULL,
    PRIMARY KEY (run, step, item, attempt, path)
) STRICT, WITHOUT ROWID;

-- Leases on runs, as a history: each takeover adds a row whose token is one more than the one before, so
-- that a process which lost a run is told apart from the one that has it. `first_event` is the number of
-- the last event before the takeover. `expires` is on the clock that counts from the boot. A process is
-- identified by its id, its pid namespace, its start in ticks and the boot of its machine.
CREATE TABLE run_leases (
    run         TEXT NOT NULL,
    token       INTEGER NOT NULL,
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    boot_id     TEXT NOT NULL,
    pid_ns      INTEGER NOT NULL,
    store       INTEGER NOT NULL,
    supervisor  TEXT NOT NULL,
    first_event INTEGER NOT NULL,
    acquired_at INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    released    INTEGER,
    PRIMARY KEY (run, token)
) STRICT, WITHOUT ROWID;

-- Locks that tasks hold, or wait for: then `acquired_at` is empty. `kind` is `name`, or `file` for a path in the
-- workspace, which tasks of one run share. A row of a dead process may be taken over. `ticket` is the same in all rows of a
-- task, and orders the tasks. A wait keeps it when its process ends before the run; `pid` is 0 if the process left the run. `replaced_by`
-- is a newer run that waits in place of this one.
CREATE TABLE locks (
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    run         TEXT NOT NULL,
    task        TEXT NOT NULL,
    ticket      INTEGER NOT NULL,
    outermost   TEXT NOT NULL,
    when_busy   TEXT NOT NULL,
    replaced_by TEXT,
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    boot_id     TEXT NOT NULL,
    pid_ns      INTEGER NOT NULL,
    store       INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    acquired_at INTEGER,
    PRIMARY KEY (kind, name, run, task)
) STRICT, WITHOUT ROWID;

-- Permits to execute that steps have, or wait for: then `acquired_at` is empty. A permit of a dead process may be passed on.
-- `ticket` orders the waits, and is kept as in `locks`. `run_turn` and `session_turn` are positions in the queue, and `passed`
-- counts the permits that the other lane got.
CREATE TABLE permits (
    run          TEXT NOT NULL,
    task         TEXT NOT NULL,
    ticket       INTEGER NOT NULL,
    outermost    TEXT NOT NULL,
    session      TEXT,
    is_scheduled INTEGER NOT NULL,
    run_turn     INTEGER NOT NULL,
    session_turn INTEGER NOT NULL,
    passed       INTEGER NOT NULL,
    pid          INTEGER NOT NULL,
    start_ticks  INTEGER NOT NULL,
    boot_id      TEXT NOT NULL,
    pid_ns       INTEGER NOT NULL,
    store        INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    acquired_at  INTEGER,
    PRIMARY KEY (run, task)
) STRICT, WITHOUT ROWID;

-- The last calls of models, MCP servers and connections, and until when calls are refused after failures in a row. It says how things
-- are, and is not rebuilt from the log.
CREATE TABLE call_health (
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    failures     INTEGER NOT NULL,
    open_until   INTEGER,
    succeeded_at INTEGER,
    failed_at    INTEGER,
    error        TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- Results for reuse, and the lookups of runs. `event` is the event of the log with the digest of the
-- result: without it, the row is not used.
CREATE TABLE cache (
    key       TEXT PRIMARY KEY,
    run       TEXT NOT NULL,
    step      TEXT NOT NULL,
    item      INTEGER NOT NULL,
    outputs   TEXT NOT NULL,
    artifacts TEXT NOT NULL,
    files     TEXT NOT NULL,
    created   INTEGER NOT NULL,
    event     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cache_lookups (
    run      TEXT NOT NULL,
    step     TEXT NOT NULL,
    item_key TEXT NOT NULL,
    key      TEXT NOT NULL,
    hit      INTEGER NOT NULL,
    parts    TEXT NOT NULL,
    PRIMARY KEY (run, step, item_key)
) STRICT, WITHOUT ROWID;

-- The uses of approvals, each once for ever: a row stays when its run is forgotten.
CREATE TABLE approval_uses (
    nonce     TEXT NOT NULL,
    execution INTEGER NOT NULL,
    token     TEXT NOT NULL,
    run       TEXT NOT NULL,
    PRIMARY KEY (nonce, execution)
) STRICT, WITHOUT ROWID;

-- Signed responses of approvers to the requests of runs; the engine that works on the run judges them.
CREATE TABLE approval_responses (
    run     TEXT NOT NULL,
    number  INTEGER NOT NULL,
    key     TEXT NOT NULL,
    verdict TEXT NOT NULL,
    token   TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (run, number, key)
) STRICT, WITHOUT ROWID;

-- Memory records, for later runs. This table can be rebuilt from the events `rows_recorded`, and nothing
-- reads it to decide. Its rows stay when their run is forgotten. Rows are added; only compaction and users remove them. `recalled` is when a run last used it.
CREATE TABLE megrams (
    id       TEXT PRIMARY KEY,
    level    TEXT NOT NULL,
    created  INTEGER NOT NULL,
    recalled INTEGER,
    space    TEXT NOT NULL,
    entity   TEXT NOT NULL,
    content  TEXT NOT NULL,
    state    TEXT NOT NULL,
    f        REAL NOT NULL,
    sigma    REAL NOT NULL,
    k        REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX megrams_of_cluster ON megrams (space, entity);
CREATE INDEX megrams_of_level ON megrams (level);

-- Notes of memory, each a JSON document. The same holds for this table; its index of words is temporary.
CREATE TABLE notes (
    id      TEXT PRIMARY KEY,
    created INTEGER NOT NULL,
    note    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Accounts of goals. These tables, `notifications` and `feedback` can be rebuilt from the events
-- `rows_recorded` of the log, and nothing reads them to decide. `timing` is the schedule at the last decision; every slot up to `decided_until` is in
-- `slots`, or was forgotten. `resumed_at`: failures before it do not count towards the next pause. `deployment`: the goal as it is
-- deployed on a backend, which then decides about it, as JSON.
CREATE TABLE goals (
    id            TEXT PRIMARY KEY,
    path          TEXT NOT NULL,
    timing        TEXT NOT NULL,
    decided_until INTEGER NOT NULL,
    paused_at     INTEGER,
    reason        TEXT NOT NULL DEFAULT '',
    resumed_at    INTEGER,
    deployment    TEXT
) STRICT, WITHOUT ROWID;

-- One row for each slot, or for `count` slots in a row from `slot` to `last_slot` that were all left
-- out for the same reason. `run` is the first run of the reconciliation that the slot started.
CREATE TABLE slots (
    goal      TEXT NOT NULL,
    slot      INTEGER NOT NULL,
    last_slot INTEGER NOT NULL,
    count     INTEGER NOT NULL,
    state     TEXT NOT NULL,
    cause     TEXT NOT NULL,
    reason    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    run       TEXT,
    PRIMARY KEY (goal, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX slots_open ON slots (goal, state) WHERE state IN ('due', 'queued');

-- Reconciliations of goals, by their first run.
CREATE TABLE reconciliations (
    run        TEXT PRIMARY KEY,
    goal       TEXT NOT NULL,
    slot       INTEGER,
    cause      TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    repair_run TEXT,
    ended      INTEGER,
    health     TEXT,
    reason     TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX reconciliations_of_goal ON reconciliations (goal, started_at);
CREATE INDEX reconciliations_live ON reconciliations (goal) WHERE ended IS NULL;
CREATE INDEX reconciliations_waiting ON reconciliations (goal) WHERE health = 'waiting';

-- The outbox of notifications, each sent once: `sent` is when it was delivered or given up.
CREATE TABLE notifications (
    id    INTEGER PRIMARY KEY,
    goal  TEXT NOT NULL,
    body  TEXT NOT NULL,
    at    INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    sent  INTEGER,
    error TEXT
) STRICT;
CREATE INDEX notifications_open ON notifications (goal) WHERE sent IS NULL;

-- Leases of daemons: one row for each that ever decided about slots; only the newest may write.
CREATE TABLE daemon_leases (
    token       INTEGER PRIMARY KEY,
    pid         INTEGER NOT NULL,
    acquired_at INTEGER NOT NULL
) STRICT;

-- Feedback of users on repairs, by the run that repaired: the latest counts.
CREATE TABLE feedback (
    run     TEXT PRIMARY KEY,
    goal    TEXT NOT NULL,
    opinion TEXT NOT NULL,
    note    TEXT NOT NULL,
    who     TEXT,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Standing approvals that were revoked: nothing starts under them any more.
CREATE TABLE revoked_approvals (
    nonce TEXT PRIMARY KEY,
    goal  TEXT NOT NULL,
    who   TEXT,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX revoked_approvals_of_goal ON revoked_approvals (goal);

-- Accounts at services that skills use, by name. No secret is here, and nothing that a secret follows
-- from: secrets are kept beside the database, see docs/connections.md. Like the tables of goals, it
-- can be rebuilt from the events `rows_recorded`.
CREATE TABLE connections (
    name               TEXT PRIMARY KEY,
    skill              TEXT NOT NULL,
    folder             TEXT NOT NULL,
    digest             TEXT NOT NULL,
    auth               TEXT NOT NULL,
    state              TEXT NOT NULL,
    account            TEXT,
    permissions        TEXT NOT NULL,
    refs               TEXT NOT NULL,
    created            INTEGER NOT NULL,
    checked            INTEGER,
    token_expires_at   INTEGER,
    refresh_expires_at INTEGER,
    last_refresh       INTEGER,
    last_used          INTEGER,
    failure            TEXT,
    message            TEXT
) STRICT, WITHOUT ROWID;

-- The suggestions of runs that were kept, by number. Like the tables of goals, it can be rebuilt from the events
-- `rows_recorded`. `started` is the run that an accepted one started.
CREATE TABLE suggestions (
    number  INTEGER PRIMARY KEY,
    run     TEXT NOT NULL,
    plan    TEXT NOT NULL,
    title   TEXT NOT NULL,
    why     TEXT NOT NULL,
    path    TEXT NOT NULL,
    params  TEXT NOT NULL,
    state   TEXT NOT NULL,
    since   INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    started TEXT
) STRICT;

-- The lines of work that are kept apart. Like the tables of goals, it can be rebuilt from the events
-- `rows_recorded`. At most one is current: what begins in the workspace belongs to it.
CREATE TABLE sessions (
    name       TEXT PRIMARY KEY,
    state      TEXT NOT NULL,
    interrupts INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    created    INTEGER NOT NULL,
    changed    INTEGER NOT NULL,
    is_current INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
