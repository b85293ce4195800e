package store

import (
	"encoding/json"
	"time"
)

// Outcome says how an operation ended. Empty: it has not ended, or its process
// ended without saying so.
type Outcome string

// The outcomes.
const (
	Done        Outcome = "done"
	Failed      Outcome = "failed"
	TimedOut    Outcome = "timed out"
	Interrupted Outcome = "interrupted"
)

// Operation is one long piece of work on one object, and its receipt.
type Operation struct {
	ID      string `json:"id"`                // random, sorts by the time it began
	Kind    string `json:"kind"`              // "create", "update", "destroy", "restart" and the like
	Type    string `json:"type"`              // Terraform type
	Name    string `json:"name"`              // of the remote object
	Host    string `json:"host"`              // canonical URI of the host or endpoint, without secrets
	Object  string `json:"object,omitempty"`  // remote id; may become known on the way
	Address string `json:"address,omitempty"` // Terraform's address, where `run` has learnt it
	Process string `json:"process"`           // who works on it: hostname/pid

	Limits []Limit `json:"limits,omitempty"`
	Steps  []Step  `json:"steps,omitempty"`

	Begun     time.Time `json:"begun"`
	Moved     time.Time `json:"moved"`             // last progress
	Answered  time.Time `json:"answered,omitzero"` // last answer of what is awaited
	Heartbeat time.Time `json:"heartbeat"`         // last sign of the process; the database's clock where it comes from one
	Ended     time.Time `json:"ended,omitzero"`

	Outcome Outcome `json:"outcome,omitempty"`
	Reason  string  `json:"reason,omitempty"` // why, if not done; never a secret
	Left    []Left  `json:"left,omitempty"`
	Told    bool    `json:"-"` // a later plan has said that it was cut short

	// Quiet is how long before it was read the last heartbeat came, by the
	// clock of whoever wrote it down.
	Quiet time.Duration `json:"-"`
}

// Limit is a time stated at the start, after which something happens.
type Limit struct {
	Name  string        // "timeout", "silence", "blind"
	After time.Duration // whole seconds are kept
}

type limitJSON struct {
	Name    string `json:"name"`
	Seconds int64  `json:"seconds"`
}

// MarshalJSON writes the limit in seconds.
func (l Limit) MarshalJSON() ([]byte, error) {
	return json.Marshal(limitJSON{l.Name, int64(l.After / time.Second)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Limit) UnmarshalJSON(b []byte) error {
	var j limitJSON
	err := json.Unmarshal(b, &j)
	l.Name, l.After = j.Name, time.Duration(j.Seconds)*time.Second
	return err
}

// Step is one part of an operation, in the order of time.
type Step struct {
	Name    string    `json:"name"`
	Done    int64     `json:"done,omitempty"`
	Total   int64     `json:"total,omitempty"` // 0: not known
	Unit    string    `json:"unit,omitempty"`  // "B" for bytes, else a plural noun
	Message string    `json:"message,omitempty"`
	Begun   time.Time `json:"begun"`
	Moved   time.Time `json:"moved"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Left is one thing that an operation left behind, and where.
type Left struct {
	What  string `json:"what"`
	Where string `json:"where"`
}

// Current returns the newest step, or a step without a name.
func (o Operation) Current() Step {
	if len(o.Steps) == 0 {
		return Step{}
	}
	return o.Steps[len(o.Steps)-1]
}

// Limit returns the limit of that name; 0 is none.
func (o Operation) Limit(name string) time.Duration {
	for _, l := range o.Limits {
		if l.Name == name {
			return l.After
		}
	}
	return 0
}
