package maas

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Event is one entry of the region's log of a node.
type Event struct {
	ID          int64
	Node        string // system id
	Hostname    string
	Level       string // "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "AUDIT"
	Type        string // the text of the type, for example "Performing PXE boot"
	Description string
	User        string // "unknown" for MAAS itself
	Created     time.Time
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Event) UnmarshalJSON(data []byte) error {
	var w struct {
		ID          int64     `json:"id"`
		Node        string    `json:"node"`
		Hostname    string    `json:"hostname"`
		Level       string    `json:"level"`
		Type        string    `json:"type"`
		Description string    `json:"description"`
		User        string    `json:"username"`
		Created     timestamp `json:"created"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*e = Event{
		ID: w.ID, Node: w.Node, Hostname: w.Hostname, Level: w.Level, Type: w.Type,
		Description: w.Description, User: w.User, Created: w.Created.Time,
	}
	return nil
}

// eventPage is the most that the API gives at once.
const eventPage = 1000

// Events returns up to limit (at most 1000) of the newest events of a node,
// newest first, from the level on; an empty id is all nodes, an empty level
// DEBUG. An unknown node has none.
func (c *Client) Events(ctx context.Context, id, level string, limit int) ([]Event, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if id != "" {
		if err := checkID("maas: read events", id); err != nil {
			return nil, err
		}
		query.Set("id", id)
	}
	return c.events(ctx, id, level, query)
}

// events reads one page. It is a call of our own and not gomaasclient's, which
// decodes each answer three times: this one is sent at every poll.
func (c *Client) events(ctx context.Context, subject, level string, query url.Values) ([]Event, error) {
	if level == "" {
		level = "DEBUG"
	}
	query.Set("op", "query")
	query.Set("level", level)
	var page struct {
		Events []Event `json:"events"`
	}
	err := c.call(ctx, request{op: "maas: read events", subject: subject, method: http.MethodGet, path: "events/", query: query}, &page)
	return page.Events, err
}
