-- The log. A run is recorded by an event with n = 0, whose seq is the run's key in all tables;
-- its machine events are numbered from 1. Rows are only added. When a run is forgotten, the
-- digest of a body takes the body's place, so that the chain can still be checked.
CREATE TABLE events (
    seq    INTEGER PRIMARY KEY,
    run    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    v      INTEGER NOT NULL,
    body   TEXT,
    digest BLOB,
    prev   BLOB NOT NULL,
    hash   BLOB NOT NULL,
    at     TEXT GENERATED ALWAYS AS (body ->> '$.at') VIRTUAL,
    kind   TEXT GENERATED ALWAYS AS (body ->> '$.event') VIRTUAL,
    CHECK ((body IS NULL) <> (digest IS NULL))
) STRICT;
CREATE UNIQUE INDEX events_of_run ON events (run, n);

-- The texts that runs run by, each once.
CREATE TABLE texts (
    digest BLOB PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Projections: these six tables can be rebuilt from the log. An item of -1 is no item.
CREATE TABLE runs (
    key            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    plan           TEXT NOT NULL,
    path           TEXT NOT NULL,
    params         TEXT NOT NULL,
    parent         TEXT,
    parent_attempt TEXT,
    retry_of       TEXT,
    created        INTEGER NOT NULL,
    config         TEXT NOT NULL,
    ended          INTEGER,
    outcome        TEXT,
    standing       TEXT NOT NULL DEFAULT 'unchecked',
    why            TEXT NOT NULL DEFAULT '',
    failed         TEXT,
    tally          TEXT,
    outputs        TEXT
) STRICT;
CREATE INDEX runs_nested ON runs (parent) WHERE parent IS NOT NULL;

CREATE TABLE sources (
    run      INTEGER NOT NULL,
    position INTEGER NOT NULL,
    path     TEXT NOT NULL,
    text     BLOB NOT NULL REFERENCES texts (digest),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
    run       INTEGER NOT NULL,
    step      TEXT NOT NULL,
    item      INTEGER NOT NULL,
    item_key  TEXT,
    first     INTEGER NOT NULL,
    state     TEXT NOT NULL,
    standing  TEXT NOT NULL DEFAULT 'unchecked',
    attempts  INTEGER NOT NULL DEFAULT 0,
    started   INTEGER,
    ended     INTEGER,
    why       TEXT NOT NULL DEFAULT '',
    class     TEXT,
    tolerated INTEGER NOT NULL DEFAULT 0,
    cached    TEXT,
    kept_from TEXT,
    outputs   TEXT,
    PRIMARY KEY (run, step, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    run     INTEGER NOT NULL,
    step    TEXT NOT NULL,
    item    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    started INTEGER NOT NULL,
    ended   INTEGER,
    exit    TEXT,
    class   TEXT,
    PRIMARY KEY (run, step, item, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE checks (
    run     INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    step    TEXT,
    item    INTEGER,
    attempt INTEGER,
    at      INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (run, n)
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

-- Who works on a run, and who holds a named lock: a process by its id, its start and the boot
-- of its machine, and which of its stores. A row of a dead process may be taken over.
CREATE TABLE owners (
    run   TEXT PRIMARY KEY,
    pid   INTEGER NOT NULL,
    start INTEGER NOT NULL,
    boot  TEXT NOT NULL,
    store INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE locks (
    name  TEXT PRIMARY KEY,
    run   TEXT NOT NULL,
    place TEXT NOT NULL,
    pid   INTEGER NOT NULL,
    start INTEGER NOT NULL,
    boot  TEXT NOT NULL,
    store INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Results for reuse, and what was asked for.
CREATE TABLE cache (
    key       TEXT PRIMARY KEY,
    run       TEXT NOT NULL,
    step      TEXT NOT NULL,
    item      INTEGER NOT NULL,
    outputs   TEXT NOT NULL,
    artifacts TEXT NOT NULL,
    files     TEXT NOT NULL,
    created   INTEGER NOT NULL
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
