package store

import (
	"context"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// MaxEvidence is the largest piece of evidence that is kept, in bytes.
const MaxEvidence = 32 << 20

// Evidence is one thing that was seen and is kept: a console's tail, a capture,
// an answer. Secrets are removed by whoever gathers it.
type Evidence struct {
	ID        string // unique; saving an id again changes nothing
	Operation string // id of the operation for which it was gathered
	Kind      string // "console", "capture", "xml", "events" and the like
	Name      string // file name within an archive
	MediaType string
	Taken     time.Time
	Size      int64  // bytes
	Content   []byte // nil where only listed
}

// SaveEvidence keeps the content. More than MaxEvidence is fault.Invalid.
func (db *DB) SaveEvidence(ctx context.Context, e Evidence) error {
	if len(e.Content) > MaxEvidence {
		return fault.New(fault.Invalid, "store: save evidence", e.Name, "it has %d bytes and at most %d are kept", len(e.Content), MaxEvidence)
	}
	content := e.Content
	if content == nil {
		content = []byte{}
	}
	_, err := db.exec(ctx, "save evidence", e.Name, `
		INSERT INTO evidence (id, operation_id, kind, name, media_type, taken_ms, size, content)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`,
		e.ID, e.Operation, e.Kind, e.Name, e.MediaType, millis(e.Taken), int64(len(content)), content)
	return err
}

// Evidence returns one piece with its content, or fault.NotFound.
func (db *DB) Evidence(ctx context.Context, id string) (Evidence, error) {
	e := Evidence{ID: id}
	var taken int64
	err := db.read.QueryRowContext(ctx,
		`SELECT operation_id, kind, name, media_type, taken_ms, size, content FROM evidence WHERE id = $1`, id).
		Scan(&e.Operation, &e.Kind, &e.Name, &e.MediaType, &taken, &e.Size, &e.Content)
	e.Taken = instant(taken)
	return e, db.problem("read evidence", id, err)
}

// EvidenceOf lists what is kept for an operation, the oldest first, without
// the contents.
func (db *DB) EvidenceOf(ctx context.Context, operation string) ([]Evidence, error) {
	rows, err := db.read.QueryContext(ctx,
		`SELECT id, kind, name, media_type, taken_ms, size FROM evidence WHERE operation_id = $1 ORDER BY taken_ms, id`, operation)
	if err != nil {
		return nil, db.problem("list evidence", operation, err)
	}
	defer func() { _ = rows.Close() }()
	var all []Evidence
	for rows.Next() {
		e := Evidence{Operation: operation}
		var taken int64
		if err := rows.Scan(&e.ID, &e.Kind, &e.Name, &e.MediaType, &taken, &e.Size); err != nil {
			return nil, db.problem("list evidence", operation, err)
		}
		e.Taken = instant(taken)
		all = append(all, e)
	}
	return all, db.problem("list evidence", operation, rows.Err())
}
