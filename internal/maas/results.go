package maas

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ScriptType says what a set of scripts is for.
type ScriptType int

// The types of script sets.
const (
	CommissioningScripts ScriptType = 0
	InstallationScripts  ScriptType = 1
	TestingScripts       ScriptType = 2
)

var scriptTypeNames = map[ScriptType]string{
	CommissioningScripts: "commissioning", InstallationScripts: "installation", TestingScripts: "testing",
}

// String returns the API's name of the type.
func (t ScriptType) String() string { return scriptTypeNames[t] }

// ScriptSet is one run of commissioning, testing or installation.
type ScriptSet struct {
	ID      int64
	Type    ScriptType
	Status  ScriptStatus
	Started time.Time // zero: not yet
	Ended   time.Time // zero: not yet
	// LastPing is the node's newest sign of life: at least every two minutes
	// while scripts run, however long they are silent. It moves for the set of
	// the current phase alone, and never for installation. Zero: none yet.
	LastPing time.Time
	Results  []ScriptResult
}

// ScriptResult is one script of a set.
type ScriptResult struct {
	ID         int64
	Name       string
	Status     ScriptStatus
	ExitStatus *int // nil: not ended
	Started    time.Time
	Ended      time.Time
	Updated    time.Time
	Estimated  time.Duration // its limit before it has ever run, then its usual runtime
	Suppressed bool
	Output     string // only where it was asked for
}

type wireResult struct {
	ID         int64        `json:"id"`
	Name       string       `json:"name"`
	Status     ScriptStatus `json:"status"`
	ExitStatus *int         `json:"exit_status"`
	Started    timestamp    `json:"started"`
	Ended      timestamp    `json:"ended"`
	Updated    timestamp    `json:"updated"`
	Estimated  span         `json:"estimated_runtime"`
	Suppressed bool         `json:"suppressed"`
	Output     string       `json:"output"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *ScriptSet) UnmarshalJSON(data []byte) error {
	var w struct {
		ID       int64        `json:"id"`
		Type     ScriptType   `json:"type"`
		Status   ScriptStatus `json:"status"`
		Started  timestamp    `json:"started"`
		Ended    timestamp    `json:"ended"`
		LastPing timestamp    `json:"last_ping"`
		Results  []wireResult `json:"results"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*s = ScriptSet{ID: w.ID, Type: w.Type, Status: w.Status, Started: w.Started.Time, Ended: w.Ended.Time, LastPing: w.LastPing.Time}
	for _, r := range w.Results {
		out, err := base64.StdEncoding.DecodeString(r.Output)
		if err != nil {
			return err
		}
		s.Results = append(s.Results, ScriptResult{
			ID: r.ID, Name: r.Name, Status: r.Status, ExitStatus: r.ExitStatus, Started: r.Started.Time, Ended: r.Ended.Time,
			Updated: r.Updated.Time, Estimated: r.Estimated.Duration, Suppressed: r.Suppressed, Output: string(out),
		})
	}
	return nil
}

// Done returns how many scripts have ended and how many there are. The number
// of tests grows when commissioning has found the disks.
func (s *ScriptSet) Done() (done, total int) {
	for _, r := range s.Results {
		if r.Status.Done() {
			done++
		}
	}
	return done, len(s.Results)
}

// ScriptSets returns all kept sets of a type, the history included and in no
// order: pick by the ids that the machine holds. Empty sets of a testing that
// was switched off are left out.
func (c *Client) ScriptSets(ctx context.Context, id string, t ScriptType) ([]ScriptSet, error) {
	const op = "maas: read script results of machine"
	if err := checkID(op, id); err != nil {
		return nil, err
	}
	var all []ScriptSet
	err := c.call(ctx, request{
		op: op, subject: id, method: http.MethodGet, path: "nodes/" + id + "/results/", query: url.Values{"type": {t.String()}},
	}, &all)
	kept := all[:0]
	for _, s := range all {
		if s.Status != ScriptsNone {
			kept = append(kept, s)
		}
	}
	return kept, err
}

// CurrentScripts returns the set of a type that belongs to now, with its last
// ping: the cheapest read that tells slow from silent. A machine that never had
// one is refused by MAAS, except for commissioning and testing.
func (c *Client) CurrentScripts(ctx context.Context, id string, t ScriptType) (*ScriptSet, error) {
	return c.scriptSet(ctx, id, "current-"+t.String(), nil)
}

// ScriptOutput returns the current set with what the named scripts have
// printed; no names are all scripts.
func (c *Client) ScriptOutput(ctx context.Context, id string, t ScriptType, names ...string) (*ScriptSet, error) {
	query := url.Values{"include_output": {"true"}}
	if len(names) > 0 {
		query.Set("filters", strings.Join(names, ","))
	}
	return c.scriptSet(ctx, id, "current-"+t.String(), query)
}

func (c *Client) scriptSet(ctx context.Context, id, set string, query url.Values) (*ScriptSet, error) {
	const op = "maas: read script results of machine"
	if err := checkID(op, id); err != nil {
		return nil, err
	}
	s := new(ScriptSet)
	r := request{op: op, subject: id, method: http.MethodGet, path: "nodes/" + id + "/results/" + set + "/", query: query}
	return s, c.call(ctx, r, s)
}
