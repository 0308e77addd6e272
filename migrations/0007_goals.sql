-- What is accounted for of goals. These tables are no projections: a slot that was skipped or
-- missed has no run that could tell of it. A goal's `timing` is when it was due when it was last
-- looked at, and all slots up to `decided` are in `slots`, or were forgotten.
CREATE TABLE goals (
    id      TEXT PRIMARY KEY,
    path    TEXT NOT NULL,
    timing  TEXT NOT NULL,
    decided INTEGER NOT NULL,
    paused  INTEGER,
    why     TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- One row for each slot, or for `count` slots in a row from `slot` to `last` that were all left
-- out for the same reason. `run` is the first run of the cycle that was begun for it.
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

-- The cycles that were begun, by their first run.
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

-- What people are to be told, each once: `sent` is when they were, or when it was given up.
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

-- Who decides about slots: one row for each who ever did; only the newest may write.
CREATE TABLE leaders (
    token    INTEGER PRIMARY KEY,
    pid      INTEGER NOT NULL,
    since    INTEGER NOT NULL
) STRICT;

-- What people said of repairs, by the run that repaired: the last word counts.
CREATE TABLE feedback (
    run     TEXT PRIMARY KEY,
    goal    TEXT NOT NULL,
    opinion TEXT NOT NULL,
    note    TEXT NOT NULL,
    who     TEXT,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The standing approvals that somebody withdrew: nothing begins under them any more.
CREATE TABLE withdrawn (
    nonce TEXT PRIMARY KEY,
    goal  TEXT NOT NULL,
    who   TEXT,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX withdrawn_of_goal ON withdrawn (goal);
