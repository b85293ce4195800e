package maas

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// markPrefix begins the last line of the description of a machine that is
// ours. The description is the one text that survives commission, deploy and
// release; annotations are wiped.
const markPrefix = "muster-owner/1 "

// wireMark is the mark as it is written: short names, for people see the line.
type wireMark struct {
	Namespace   string        `json:"ns"`
	Type        string        `json:"type"`
	Name        string        `json:"name"`
	Incarnation string        `json:"inc"`
	Complete    bool          `json:"complete"`
	NICs        []wireMarkNIC `json:"nics,omitempty"`
	Op          *wireMarkOp   `json:"op,omitempty"`
}

type wireMarkNIC struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
}

type wireMarkOp struct {
	ID   string    `json:"id"`
	Step string    `json:"step,omitempty"`
	Time time.Time `json:"at"`
	Host string    `json:"host,omitempty"`
}

// JoinDescription returns a description with the mark as its last line. Disks
// are no part of a machine's mark.
func JoinDescription(text string, mark owner.Mark) (string, error) {
	w := wireMark{
		Namespace: mark.Namespace, Type: mark.Type, Name: mark.Name, Incarnation: mark.Incarnation, Complete: mark.Complete,
	}
	for _, n := range mark.NICs {
		w.NICs = append(w.NICs, wireMarkNIC{Name: n.Name, MAC: n.MAC})
	}
	if mark.Op.ID != "" {
		w.Op = &wireMarkOp{ID: mark.Op.ID, Step: mark.Op.Step, Time: mark.Op.Time.UTC(), Host: mark.Op.Host}
	}
	line, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("maas: write mark: %w", err)
	}
	text, _, _ = SplitDescription(text)
	if text != "" {
		text += "\n"
	}
	return text + markPrefix + string(line), nil
}

// SplitDescription returns the description without our line, and the mark; the
// mark is nil when there is none. A line of ours that cannot be read is an
// error, for the machine is somebody's.
func SplitDescription(description string) (string, *owner.Mark, error) {
	text, line := "", strings.TrimRight(description, " \t\r\n")
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		text, line = line[:i], line[i+1:]
	}
	body, found := strings.CutPrefix(line, markPrefix)
	if !found {
		return description, nil, nil
	}
	text = strings.TrimRight(text, "\r\n")
	var w wireMark
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		return text, nil, fmt.Errorf("maas: read mark: the last line of the description is not as it was written: %w", err)
	}
	m := &owner.Mark{
		Namespace: w.Namespace, Type: w.Type, Name: w.Name, Incarnation: w.Incarnation, Complete: w.Complete,
	}
	for _, n := range w.NICs {
		m.NICs = append(m.NICs, owner.NIC{Name: n.Name, MAC: n.MAC})
	}
	if w.Op != nil {
		m.Op = owner.Operation{ID: w.Op.ID, Step: w.Op.Step, Time: w.Op.Time, Host: w.Op.Host}
	}
	return text, m, nil
}
