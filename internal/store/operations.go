package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// SaveOperation writes the whole operation, new or known, and its heartbeat by
// the database's clock. One that has ended stays as it ended.
func (db *DB) SaveOperation(ctx context.Context, o Operation) error {
	limits, err1 := json.Marshal(o.Limits)
	steps, err2 := json.Marshal(o.Steps)
	leavings, err3 := json.Marshal(o.Left)
	if err := errors.Join(err1, err2, err3); err != nil {
		return db.problem("save operation", o.ID, err)
	}
	_, err := db.exec(ctx, "save operation", o.ID, `
		INSERT INTO operation (id, kind, type, name, host, object, address, process, limits, steps,
			begun_ms, moved_ms, answered_ms, heartbeat_ms, ended_ms, outcome, reason, leavings, told_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, @now, $14, $15, $16, $17, 0)
		ON CONFLICT (id) DO UPDATE SET object = excluded.object, limits = excluded.limits, steps = excluded.steps,
			address = CASE WHEN excluded.address = '' THEN operation.address ELSE excluded.address END,
			moved_ms = excluded.moved_ms, answered_ms = excluded.answered_ms, heartbeat_ms = excluded.heartbeat_ms,
			ended_ms = excluded.ended_ms, outcome = excluded.outcome, reason = excluded.reason, leavings = excluded.leavings
		WHERE operation.outcome = ''`,
		o.ID, o.Kind, o.Type, o.Name, o.Host, o.Object, o.Address, o.Process, string(limits), string(steps),
		millis(o.Begun), millis(o.Moved), millis(o.Answered), millis(o.Ended), string(o.Outcome), o.Reason, string(leavings))
	return err
}

// Query picks operations; empty fields pick all.
type Query struct {
	ID     string // or its beginning
	Type   string
	Name   string
	Host   string
	Object string

	Unended bool // only those without an outcome
	Newest  bool // of each object (type, name, host) only the newest
	Max     int  // 0: 1000
}

// maxOperations is how many are returned where the query does not say.
const maxOperations = 1000

const operationColumns = `o.id, o.kind, o.type, o.name, o.host, o.object, o.address, o.process, o.limits, o.steps,
	o.begun_ms, o.moved_ms, o.answered_ms, o.heartbeat_ms, o.ended_ms, o.outcome, o.reason, o.leavings, o.told_ms,
	@now - o.heartbeat_ms`

// Operations returns the operations that q picks, the newest first.
func (db *DB) Operations(ctx context.Context, q Query) ([]Operation, error) {
	where, args := q.conditions()
	limit := q.Max
	if limit <= 0 {
		limit = maxOperations
	}
	statement := `SELECT ` + operationColumns + ` FROM operation o WHERE ` + where +
		fmt.Sprintf(` ORDER BY o.begun_ms DESC, o.id DESC LIMIT %d`, limit)
	rows, err := db.read.QueryContext(ctx, db.text(statement), args...)
	if err != nil {
		return nil, db.problem("list operations", "", err)
	}
	defer func() { _ = rows.Close() }()
	var all []Operation
	for rows.Next() {
		o, err := scanOperation(rows)
		if err != nil {
			return nil, db.problem("list operations", "", err)
		}
		all = append(all, o)
	}
	return all, db.problem("list operations", "", rows.Err())
}

func (q Query) conditions() (string, []any) {
	parts := []string{"1 = 1"}
	var args []any
	add := func(condition string, value string) {
		if value != "" {
			args = append(args, value)
			parts = append(parts, fmt.Sprintf(condition, len(args)))
		}
	}
	add("substr(o.id, 1, length($%[1]d)) = $%[1]d", q.ID)
	add("o.type = $%d", q.Type)
	add("o.name = $%d", q.Name)
	add("o.host = $%d", q.Host)
	add("o.object = $%d", q.Object)
	if q.Unended {
		parts = append(parts, "o.outcome = ''")
	}
	if q.Newest {
		parts = append(parts, `NOT EXISTS (SELECT 1 FROM operation n WHERE n.type = o.type AND n.name = o.name AND n.host = o.host
			AND (n.begun_ms > o.begun_ms OR n.begun_ms = o.begun_ms AND n.id > o.id))`)
	}
	return strings.Join(parts, " AND "), args
}

// Operation returns the one operation whose id begins with id: fault.NotFound
// for none, fault.Conflict for several.
func (db *DB) Operation(ctx context.Context, id string) (Operation, error) {
	found, err := db.Operations(ctx, Query{ID: id, Max: 2})
	switch {
	case err != nil:
		return Operation{}, err
	case id == "" || len(found) == 0:
		return Operation{}, fault.New(fault.NotFound, "store: read operation", id, "there is none of that id in %s", db.where)
	case len(found) > 1 && found[0].ID != id && found[1].ID != id:
		return Operation{}, fault.New(fault.Conflict, "store: read operation", id, "several ids begin like that; give more of it")
	case len(found) > 1 && found[1].ID == id:
		return found[1], nil
	}
	return found[0], nil
}

// Tell notes that a person is being told how the operation ended, and reports
// whether nobody was before: of several that ask at once, one gets true.
func (db *DB) Tell(ctx context.Context, id string) (first bool, err error) {
	n, err := db.exec(ctx, "note as told", id, `UPDATE operation SET told_ms = @now WHERE id = $1 AND told_ms = 0`, id)
	return n == 1, err
}

// Prune deletes operations that ended longer than age ago, by the database's
// clock, and their evidence. It returns how many operations went.
func (db *DB) Prune(ctx context.Context, age time.Duration) (int64, error) {
	ms := age.Milliseconds()
	_, err := db.exec(ctx, "prune evidence", "", `DELETE FROM evidence WHERE operation_id IN
		(SELECT id FROM operation WHERE ended_ms > 0 AND ended_ms < @now - $1)`, ms)
	if err != nil {
		return 0, err
	}
	return db.exec(ctx, "prune operations", "", `DELETE FROM operation WHERE ended_ms > 0 AND ended_ms < @now - $1`, ms)
}

func scanOperation(rows *sql.Rows) (o Operation, err error) {
	var limits, steps, leavings, outcome string
	var begun, moved, answered, heartbeat, ended, told, quiet int64
	err = rows.Scan(&o.ID, &o.Kind, &o.Type, &o.Name, &o.Host, &o.Object, &o.Address, &o.Process, &limits, &steps,
		&begun, &moved, &answered, &heartbeat, &ended, &outcome, &o.Reason, &leavings, &told, &quiet)
	if err != nil {
		return o, err
	}
	o.Begun, o.Moved, o.Answered, o.Heartbeat, o.Ended = instant(begun), instant(moved), instant(answered), instant(heartbeat), instant(ended)
	o.Outcome, o.Told, o.Quiet = Outcome(outcome), told != 0, time.Duration(quiet)*time.Millisecond
	return o, errors.Join(
		json.Unmarshal([]byte(limits), &o.Limits), json.Unmarshal([]byte(steps), &o.Steps), json.Unmarshal([]byte(leavings), &o.Left))
}
