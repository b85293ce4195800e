package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// answer is what a command printed and its exit status.
type answer struct {
	out, err string
	code     int
}

// splitArgs takes options and their values from the words.
func splitArgs(args []string) (words []string, options map[string]string) {
	options = map[string]string{}
	valued := []string{"-p", "-o", "--property", "--output", "--state"}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(args[i], "-"):
			words = append(words, args[i])
		case has:
			options[name] = value
		case slices.Contains(valued, name) && i+1 < len(args):
			i++
			options[name] = args[i]
		default:
			options[name] = "yes"
		}
	}
	return words, options
}

func option(options map[string]string, names ...string) string {
	for _, n := range names {
		if v := options[n]; v != "" {
			return v
		}
	}
	return ""
}

// systemctl answers as systemd 252 does, as far as readiness asks.
func (s *system) systemctl(args []string) answer {
	words, options := splitArgs(args)
	if len(words) == 0 {
		words = []string{"list-units"}
	}
	switch words[0] {
	case "is-active":
		return s.isActive(words[1:])
	case "is-failed":
		return s.isFailed(words[1:])
	case "is-system-running":
		state := s.running()
		return answer{out: state + "\n", code: digit(state != "running")}
	case "show":
		return s.show(words[1:], options)
	case "list-jobs":
		return s.listJobs(options)
	case "list-units":
		return s.listUnits(options)
	}
	return answer{err: fmt.Sprintf("Unknown command verb %s.\n", words[0]), code: 1}
}

func digit(on bool) int {
	if on {
		return 1
	}
	return 0
}

// isActive exits with 0 when one unit is active, with 4 when there is none of
// that name, else with 3.
func (s *system) isActive(units []string) answer {
	a := answer{code: 4}
	for _, u := range units {
		state, exists := s.unitState(u)
		a.out += state + "\n"
		switch {
		case state == "active":
			a.code = 0
		case exists && a.code == 4:
			a.code = 3
		}
	}
	return a
}

func (s *system) isFailed(units []string) answer {
	a := answer{code: 1}
	for _, u := range units {
		state, _ := s.unitState(u)
		a.out += state + "\n"
		if state == "failed" {
			a.code = 0
		}
	}
	return a
}

var subStates = map[string]string{"active": "running", "activating": "start", "failed": "failed", "inactive": "dead", "deactivating": "stop"}

func (s *system) properties(unit string) [][2]string {
	state, exists := s.unitState(unit)
	result, jobID := "success", "0"
	if state == "failed" {
		result = "exit-code"
	}
	for i, j := range s.jobs() {
		if j.unit == unit {
			jobID = fmt.Sprint(100 + i)
		}
	}
	return [][2]string{
		{"Id", unit},
		{"LoadState", pick(exists, "loaded", "not-found")},
		{"ActiveState", state},
		{"SubState", subStates[state]},
		{"Result", result},
		{"Job", jobID},
		{"Description", unit},
	}
}

func (s *system) show(units []string, options map[string]string) answer {
	wanted := strings.Split(option(options, "-p", "--property"), ",")
	var blocks []string
	for _, u := range units {
		var b strings.Builder
		for _, p := range s.properties(u) {
			switch {
			case wanted[0] != "" && !slices.Contains(wanted, p[0]):
			case options["--value"] != "":
				fmt.Fprintln(&b, p[1])
			default:
				fmt.Fprintf(&b, "%s=%s\n", p[0], p[1])
			}
		}
		blocks = append(blocks, b.String())
	}
	return answer{out: strings.Join(blocks, "\n")}
}

func (s *system) listJobs(options map[string]string) answer {
	jobs := s.jobs()
	if option(options, "-o", "--output") == "json" {
		list := []map[string]any{}
		for i, j := range jobs {
			list = append(list, map[string]any{"job": 100 + i, "unit": j.unit, "type": j.kind, "state": j.state})
		}
		return jsonAnswer(list)
	}
	legend := options["--no-legend"] == "" && options["--legend"] != "no" && options["--legend"] != "false"
	var b strings.Builder
	if legend && len(jobs) == 0 {
		return answer{out: "No jobs running.\n"}
	}
	if legend {
		b.WriteString("JOB UNIT TYPE STATE\n")
	}
	for i, j := range jobs {
		fmt.Fprintf(&b, "%d %s %s %s\n", 100+i, j.unit, j.kind, j.state)
	}
	if legend {
		fmt.Fprintf(&b, "\n%d jobs listed.\n", len(jobs))
	}
	return answer{out: b.String()}
}

func (s *system) listUnits(options map[string]string) answer {
	wanted := options["--state"]
	if options["--failed"] != "" {
		wanted = "failed"
	}
	var b strings.Builder
	list := []map[string]any{}
	for _, u := range s.unitNames() {
		state, _ := s.unitState(u)
		if wanted != "" && wanted != state {
			continue
		}
		fmt.Fprintf(&b, "%s loaded %s %s %s\n", u, state, subStates[state], u)
		list = append(list, map[string]any{"unit": u, "load": "loaded", "active": state, "sub": subStates[state], "description": u})
	}
	if option(options, "-o", "--output") == "json" {
		return jsonAnswer(list)
	}
	return answer{out: b.String()}
}

// networkctl answers as networkd 252 does.
func (s *system) networkctl(args []string) answer {
	words, options := splitArgs(args)
	if len(words) > 0 && words[0] != "list" && words[0] != "status" {
		return answer{err: fmt.Sprintf("Unknown command verb %s.\n", words[0]), code: 1}
	}
	links := s.networkLinks()
	if mode := options["--json"]; mode != "" && mode != "off" {
		list := []map[string]any{}
		for _, l := range links {
			list = append(list, map[string]any{
				"Index": l.Index, "Name": l.Name, "Type": l.Kind,
				"OperationalState": l.Operational, "AdministrativeState": l.SetupOrAdmin,
			})
		}
		return jsonAnswer(map[string]any{"Interfaces": list})
	}
	var b strings.Builder
	legend := options["--no-legend"] == ""
	if legend {
		b.WriteString("IDX LINK TYPE     OPERATIONAL SETUP\n")
	}
	for _, l := range links {
		fmt.Fprintf(&b, "%3d %s %s %s %s\n", l.Index, l.Name, l.Kind, l.Operational, l.SetupOrAdmin)
	}
	if legend {
		fmt.Fprintf(&b, "\n%d links listed.\n", len(links))
	}
	return answer{out: b.String()}
}

func jsonAnswer(v any) answer {
	b, err := json.Marshal(v)
	if err != nil {
		return answer{err: err.Error() + "\n", code: 1}
	}
	return answer{out: string(b) + "\n"}
}
