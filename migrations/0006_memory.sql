-- What runs found out, for the runs to come. It is no projection, and stays when its run is
-- forgotten. Rows are added; only the Dreamer and people take them away, the Dreamer makes a rule
-- (level, k) knowledge again, and whoever plans notes what it was told (recalled).
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
