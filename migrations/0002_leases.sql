-- Who works on a run, as a history: a row for each taking-over, its token one more than the one
-- before, so that whoever lost a run can be told from who has it. `first` is the number of the
-- last event before; what follows it is the new owner's. `expires` is on the clock that runs
-- since the boot. Whoever worked on a run while it was migrated does so no more.
DROP TABLE owners;
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

-- The process of a lock is numbered in a namespace too.
DROP TABLE locks;
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
