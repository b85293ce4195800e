package runner

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// The lines in which Terraform says at which address it begins what, and which
// id it has then.
var (
	beginLine = regexp.MustCompile(`^(.+?)(?: \(deposed object [0-9a-f]+\))?: (Creating|Modifying|Destroying)\.\.\.(?: \[id=(.*)\])?$`)
	endLine   = regexp.MustCompile(`^(.+?)(?: \(deposed object [0-9a-f]+\))?: (Creation|Modifications|Destruction) complete after \S+(?: \[id=(.*)\])?$`)
	escape    = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
)

var verbs = map[string]string{
	"Creating": "create", "Creation": "create", "create": "create",
	"Modifying": "update", "Modifications": "update", "update": "update",
	"Destroying": "destroy", "Destruction": "destroy", "delete": "destroy",
}

// spoken is one thing that Terraform said it does.
type spoken struct {
	address string
	verb    string
	typ     string
	names   []string // by which its object may go: label, key
	id      string
	taken   bool
}

// addresses knows which operation belongs to which address. The protocol does
// not tell a provider; Terraform's own lines do, and always before it calls
// the provider.
type addresses struct {
	said []*spoken
}

// hear takes one line of the child's output, human or -json.
func (a *addresses) hear(line string) {
	line = strings.TrimSpace(escape.ReplaceAllString(line, ""))
	if strings.HasPrefix(line, "{") {
		a.hearJSON(line)
		return
	}
	if m := beginLine.FindStringSubmatch(line); m != nil {
		a.begin(m[1], verbs[m[2]], m[3])
	} else if m := endLine.FindStringSubmatch(line); m != nil {
		a.end(m[1], verbs[m[2]], m[3])
	}
}

func (a *addresses) hearJSON(line string) {
	var m struct {
		Type string `json:"type"`
		Hook struct {
			Resource struct {
				Addr string `json:"addr"`
			} `json:"resource"`
			Action string `json:"action"`
			ID     string `json:"id_value"`
		} `json:"hook"`
	}
	if json.Unmarshal([]byte(line), &m) != nil || m.Hook.Resource.Addr == "" {
		return
	}
	switch m.Type {
	case "apply_start":
		a.begin(m.Hook.Resource.Addr, verbs[m.Hook.Action], m.Hook.ID)
	case "apply_complete":
		a.end(m.Hook.Resource.Addr, verbs[m.Hook.Action], m.Hook.ID)
	}
}

func (a *addresses) begin(address, verb, id string) {
	typ, names := parts(address)
	if typ == "" || verb == "" {
		return
	}
	a.said = append(a.said, &spoken{address: address, verb: verb, typ: typ, names: names, id: id})
}

func (a *addresses) end(address, verb, id string) {
	for i := len(a.said) - 1; i >= 0; i-- {
		if s := a.said[i]; s.address == address && s.verb == verb {
			if s.id == "" {
				s.id = id
			}
			return
		}
	}
}

// find returns the operation's address, or "" while it cannot be told for
// sure: by id, by a name that only one has, or because it is the only one left.
func (a *addresses) find(o store.Operation) string {
	var left []*spoken
	for _, s := range a.said {
		if !s.taken && s.typ == o.Type && (s.verb == o.Kind || verbs[o.Kind] == "" && s.verb == "update") {
			left = append(left, s)
		}
	}
	for _, choose := range []func(*spoken) bool{
		func(s *spoken) bool { return s.id != "" && s.id == o.Object },
		func(s *spoken) bool { return s.named(o.Name) },
		func(*spoken) bool { return true },
	} {
		var fit []*spoken
		for _, s := range left {
			if choose(s) {
				fit = append(fit, s)
			}
		}
		if len(fit) == 1 {
			fit[0].taken = true
			return fit[0].address
		}
	}
	return ""
}

func (s *spoken) named(name string) bool {
	for _, n := range s.names {
		if n == name {
			return true
		}
	}
	return false
}

// parts takes type, and label and key as names, from an address such as
// module.lab["x.y"].muster_node_vm.node["a"].
func parts(address string) (typ string, names []string) {
	var fields []string
	depth, quoted, from := 0, false, 0
	for i, r := range address {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == '.' && depth == 0:
			fields = append(fields, address[from:i])
			from = i + 1
		}
	}
	fields = append(fields, address[from:])
	if len(fields) < 2 {
		return "", nil
	}
	typ = fields[len(fields)-2]
	label, key, keyed := strings.Cut(fields[len(fields)-1], "[")
	if keyed {
		return typ, []string{strings.Trim(strings.TrimSuffix(key, "]"), `"`)}
	}
	return typ, []string{label}
}
