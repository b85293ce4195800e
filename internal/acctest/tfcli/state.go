package tfcli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// State is a state file, as far as tests look into it.
type State struct {
	Resources []StateResource `json:"resources"`

	Size int `json:"-"` // bytes of the file
}

// StateResource is one resource of a state.
type StateResource struct {
	Mode      string          `json:"mode"`
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	Instances []StateInstance `json:"instances"`
}

// StateInstance is one object of a resource.
type StateInstance struct {
	IndexKey   any            `json:"index_key"`
	Status     string         `json:"status"` // "tainted" or empty
	Attributes map[string]any `json:"attributes"`
	Private    []byte         `json:"private"`
}

// Tainted reports whether the next apply replaces the object.
func (i StateInstance) Tainted() bool { return i.Status == "tainted" }

// State reads the state file; without one the state is empty.
func (c *CLI) State() State {
	c.tb.Helper()
	var s State
	b, err := os.ReadFile(filepath.Join(c.Dir, "terraform.tfstate"))
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		c.tb.Fatalf("read the state: %v", err)
	}
	s.Size = len(b)
	return s
}

// Instances returns the managed objects of one type.
func (s State) Instances(resourceType string) []StateInstance {
	var out []StateInstance
	for _, r := range s.Resources {
		if r.Mode == "managed" && r.Type == resourceType {
			out = append(out, r.Instances...)
		}
	}
	return out
}

// ShowJSON returns what `terraform show -json` says, of the state or of the
// plan file that is named.
func (c *CLI) ShowJSON(planFile ...string) map[string]any {
	c.tb.Helper()
	r := c.Run(append([]string{"show", "-json", "-no-color"}, planFile...)...).OK(c.tb)
	var out map[string]any
	if err := json.Unmarshal([]byte(r.Stdout), &out); err != nil {
		c.tb.Fatalf("terraform show -json: %v\n%s", err, r.Stdout)
	}
	return out
}
