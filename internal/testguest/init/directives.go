package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// settings is what user-data asks of the guest.
type settings struct {
	units map[string]script
	links map[string]script
	jobs  []job

	ignoreACPI    bool
	noDHCP        bool
	noAgent       bool
	agentSilent   bool
	agentAfter    time.Duration
	print         []string
	flood         int
	powerOffAfter time.Duration
	crashAfter    time.Duration
}

// script is a value that changes with time: each step holds from its time on.
type script []step

type step struct {
	from  time.Duration
	value string
}

func (s script) at(elapsed time.Duration) string {
	value := ""
	for _, st := range s {
		if elapsed >= st.from {
			value = st.value
		}
	}
	return value
}

type job struct {
	unit, kind, state string
	until             time.Duration // zero: for ever
}

// parseDirectives reads the lines that it knows and leaves the others, which
// are cloud-init's. A known word with arguments that make no sense is a problem.
func parseDirectives(userData string) (settings, []string) {
	set := settings{units: map[string]script{}, links: map[string]script{}}
	var problems []string
	for line := range strings.Lines(userData) {
		words := strings.Fields(strings.TrimLeft(line, "# \t"))
		if len(words) == 0 {
			continue
		}
		if err := set.direct(words[0], words[1:]); err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", strings.TrimSpace(line), err))
		}
	}
	return set, problems
}

func (set *settings) direct(word string, args []string) (err error) {
	switch word {
	case "unit":
		err = addScript(set.units, args)
	case "link":
		err = addScript(set.links, args)
	case "job":
		var j job
		j, err = parseJob(args)
		set.jobs = append(set.jobs, j)
	case "ignore-acpi":
		set.ignoreACPI = true
	case "no-dhcp":
		set.noDHCP = true
	case "no-agent":
		set.noAgent = true
	case "agent-silent":
		set.agentSilent = true
	case "agent-after":
		set.agentAfter, err = oneDuration(args)
	case "power-off-after":
		set.powerOffAfter, err = oneDuration(args)
	case "crash-after":
		set.crashAfter, err = oneDuration(args)
	case "print":
		set.print = append(set.print, strings.Join(args, " "))
	case "flood":
		set.flood, err = strconv.Atoi(strings.Join(args, " "))
	}
	return err
}

func oneDuration(args []string) (time.Duration, error) {
	return time.ParseDuration(strings.Join(args, " "))
}

// addScript parses NAME VALUE [AFTER VALUE]...
func addScript(into map[string]script, args []string) error {
	if len(args) < 2 || len(args)%2 != 0 {
		return fmt.Errorf("wants a name, a state and pairs of time and state")
	}
	s := script{{value: args[1]}}
	for i := 2; i < len(args); i += 2 {
		from, err := time.ParseDuration(args[i])
		if err != nil {
			return err
		}
		s = append(s, step{from: from, value: args[i+1]})
	}
	into[args[0]] = s
	return nil
}

func parseJob(args []string) (job, error) {
	j := job{kind: "start", state: "waiting"}
	if len(args) < 1 || len(args) > 4 {
		return j, fmt.Errorf("wants a unit, a type, a state and an end")
	}
	j.unit = args[0]
	if len(args) > 1 {
		j.kind = args[1]
	}
	if len(args) > 2 {
		j.state = args[2]
	}
	var err error
	if len(args) > 3 {
		j.until, err = time.ParseDuration(args[3])
	}
	return j, err
}
