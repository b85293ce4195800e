package maas

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
)

// overlap is how many ids are read again at each poll. The region draws ids
// before it commits, so smaller ones become visible later; up to 50 late were
// seen on a busy region, and a busier one has room here.
const overlap = 500

// Cursor follows the events of all machines of a region. It is not safe for
// concurrent use: one poller owns it.
type Cursor struct {
	client  *Client
	highest int64
	seen    map[int64]struct{}
}

// Cursor returns a cursor that stands at now: what is visible already counts as
// seen. One request.
func (c *Client) Cursor(ctx context.Context) (*Cursor, error) {
	cur := &Cursor{client: c, seen: map[int64]struct{}{}}
	newest, err := c.Events(ctx, "", "DEBUG", eventPage)
	if err != nil {
		return nil, err
	}
	for _, e := range newest {
		cur.note(e.ID)
	}
	cur.forget()
	return cur, nil
}

// Next returns the events that have become visible since the last call, in the
// order of their ids, each once. An event is a hint that something changed: it
// can come late, so it says nothing about what is true now. On an error nothing
// counts as seen, and the next call returns it again.
func (cur *Cursor) Next(ctx context.Context) ([]Event, error) {
	var fresh []Event
	pending := map[int64]struct{}{}
	after := max(cur.highest-overlap, 0)
	for {
		page, err := cur.client.events(ctx, "", "DEBUG", url.Values{
			"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(eventPage)},
		})
		if err != nil {
			return nil, err
		}
		last := after
		for _, e := range page {
			last = max(last, e.ID)
			_, old := cur.seen[e.ID]
			_, twice := pending[e.ID]
			if !old && !twice {
				pending[e.ID] = struct{}{}
				fresh = append(fresh, e)
			}
		}
		// With "after", a full page holds the oldest ones, so more may follow.
		if len(page) < eventPage || last == after {
			break
		}
		after = last
	}
	for id := range pending {
		cur.note(id)
	}
	cur.forget()
	slices.SortFunc(fresh, func(a, b Event) int { return cmp.Compare(a.ID, b.ID) })
	return fresh, nil
}

// Highest returns the highest id seen so far.
func (cur *Cursor) Highest() int64 { return cur.highest }

func (cur *Cursor) note(id int64) {
	cur.seen[id] = struct{}{}
	cur.highest = max(cur.highest, id)
}

// forget drops ids that no later poll can return.
func (cur *Cursor) forget() {
	for id := range cur.seen {
		if id <= cur.highest-overlap {
			delete(cur.seen, id)
		}
	}
}
