CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Times are milliseconds since 1970; 0 is none. limits, steps and leavings are
-- JSON arrays, always read and written with their row.
CREATE TABLE operation (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    type         TEXT NOT NULL,
    name         TEXT NOT NULL,
    host         TEXT NOT NULL,
    object       TEXT NOT NULL,
    address      TEXT NOT NULL,
    process      TEXT NOT NULL,
    limits       TEXT NOT NULL,
    steps        TEXT NOT NULL,
    begun_ms     BIGINT NOT NULL,
    moved_ms     BIGINT NOT NULL,
    answered_ms  BIGINT NOT NULL,
    heartbeat_ms BIGINT NOT NULL,
    ended_ms     BIGINT NOT NULL,
    outcome      TEXT NOT NULL,
    reason       TEXT NOT NULL,
    leavings     TEXT NOT NULL,
    told_ms      BIGINT NOT NULL
);
CREATE INDEX operation_by_object ON operation (type, name, host, begun_ms);
CREATE INDEX operation_by_time ON operation (begun_ms);
CREATE INDEX operation_unended ON operation (begun_ms) WHERE outcome = '';

CREATE TABLE evidence (
    id           TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL,
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    media_type   TEXT NOT NULL,
    taken_ms     BIGINT NOT NULL,
    size         BIGINT NOT NULL,
    content      BYTEA NOT NULL
);
CREATE INDEX evidence_by_operation ON evidence (operation_id, taken_ms);
