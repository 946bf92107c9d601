-- The rebuildable projection. Delete the file and nothing is forgotten: the next command folds
-- the journal from its first line.

-- The folded state behind one entry. `fold_version` changes whenever the fold does.
CREATE TABLE IF NOT EXISTS checkpoint (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    journal      TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    hash         TEXT    NOT NULL,
    offset       INTEGER NOT NULL,
    fold_version TEXT    NOT NULL,
    state        BLOB    NOT NULL
);

-- Issues that left the working state, looked up by key when a rule asks.
CREATE TABLE IF NOT EXISTS settled (
    issue      TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    runs       INTEGER NOT NULL,
    outcome    TEXT    NOT NULL
) WITHOUT ROWID;
