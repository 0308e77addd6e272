-- What the numbered files come to, as SQLite tells it; a test says what it is to be.
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
CREATE TABLE texts (
    digest BLOB PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
, asks INTEGER NOT NULL DEFAULT 0, accepted TEXT) STRICT;
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
    outputs   TEXT, stale TEXT,
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
CREATE TABLE owners (
    run      TEXT NOT NULL,
    token    INTEGER NOT NULL,
    pid      INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    boot     TEXT NOT NULL,
    ns       INTEGER NOT NULL,
    store    INTEGER NOT NULL,
    keeper   TEXT NOT NULL,
    first    INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    expires  INTEGER NOT NULL,
    released INTEGER,
    PRIMARY KEY (run, token)
) STRICT, WITHOUT ROWID;
CREATE TABLE locks (
    name  TEXT PRIMARY KEY,
    run   TEXT NOT NULL,
    place TEXT NOT NULL,
    pid   INTEGER NOT NULL,
    start INTEGER NOT NULL,
    boot  TEXT NOT NULL,
    ns    INTEGER NOT NULL,
    store INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE consumed (
    nonce     TEXT NOT NULL,
    execution INTEGER NOT NULL,
    token     TEXT NOT NULL,
    run       TEXT NOT NULL,
    PRIMARY KEY (nonce, execution)
) STRICT, WITHOUT ROWID;
CREATE TABLE answers (
    run     TEXT NOT NULL,
    number  INTEGER NOT NULL,
    key     TEXT NOT NULL,
    verdict TEXT NOT NULL,
    token   TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (run, number, key)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE goals (
    id      TEXT PRIMARY KEY,
    path    TEXT NOT NULL,
    timing  TEXT NOT NULL,
    decided INTEGER NOT NULL,
    paused  INTEGER,
    why     TEXT NOT NULL DEFAULT ''
, resumed INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE slots (
    goal  TEXT NOT NULL,
    slot  INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    count INTEGER NOT NULL,
    state TEXT NOT NULL,
    cause TEXT NOT NULL,
    why   TEXT NOT NULL,
    at    INTEGER NOT NULL,
    run   TEXT,
    PRIMARY KEY (goal, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX slots_open ON slots (goal, state) WHERE state IN ('due', 'queued');
CREATE TABLE cycles (
    run    TEXT PRIMARY KEY,
    goal   TEXT NOT NULL,
    slot   INTEGER,
    cause  TEXT NOT NULL,
    began  INTEGER NOT NULL,
    repair TEXT,
    ended  INTEGER,
    health TEXT,
    why    TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX cycles_of_goal ON cycles (goal, began);
CREATE INDEX cycles_live ON cycles (goal) WHERE ended IS NULL;
CREATE INDEX cycles_waiting ON cycles (goal) WHERE health = 'waiting';
CREATE TABLE notices (
    id    INTEGER PRIMARY KEY,
    goal  TEXT NOT NULL,
    body  TEXT NOT NULL,
    at    INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    sent  INTEGER,
    error TEXT
) STRICT;
CREATE INDEX notices_open ON notices (goal) WHERE sent IS NULL;
CREATE TABLE leaders (
    token    INTEGER PRIMARY KEY,
    pid      INTEGER NOT NULL,
    since    INTEGER NOT NULL
) STRICT;
CREATE TABLE feedback (
    run     TEXT PRIMARY KEY,
    goal    TEXT NOT NULL,
    opinion TEXT NOT NULL,
    note    TEXT NOT NULL,
    who     TEXT,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE withdrawn (
    nonce TEXT PRIMARY KEY,
    goal  TEXT NOT NULL,
    who   TEXT,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX withdrawn_of_goal ON withdrawn (goal);
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
