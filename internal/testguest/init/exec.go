package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// execs are the commands that guest-exec began. The guest has no other program
// than init, so each is a function of it.
type execs struct {
	mu   sync.Mutex
	last int
	done map[int]*answer // nil while it runs
}

func (a *agent) exec(arguments json.RawMessage) (any, error) {
	var args struct {
		Path      string   `json:"path"`
		Arg       []string `json:"arg"`
		InputData string   `json:"input-data"`
	}
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, err
	}
	input, err := base64.StdEncoding.DecodeString(args.InputData)
	if err != nil {
		return nil, err
	}
	command, ok := a.command(args.Path)
	if !ok {
		return nil, commandError{"GenericError", fmt.Sprintf("Guest agent command failed, error was 'Failed to execute child process “%s” (No such file or directory)'", args.Path)}
	}
	pid := a.execs.begin()
	go func() { a.execs.end(pid, command(args.Arg, string(input))) }()
	return map[string]any{"pid": pid}, nil
}

// command finds a command by its name, with or without a folder.
func (a *agent) command(file string) (func(args []string, input string) answer, bool) {
	switch path.Base(file) {
	case "systemctl":
		return func(args []string, _ string) answer { return a.system.systemctl(args) }, true
	case "networkctl":
		return func(args []string, _ string) answer { return a.system.networkctl(args) }, true
	case "collect":
		return func([]string, string) answer { return jsonAnswer(a.collect()) }, true
	case "cat":
		return cat, true
	case "echo":
		return func(args []string, _ string) answer { return answer{out: strings.Join(args, " ") + "\n"} }, true
	case "true":
		return func([]string, string) answer { return answer{} }, true
	case "false":
		return func([]string, string) answer { return answer{code: 1} }, true
	case "sleep":
		return sleep, true
	case "say":
		return func(args []string, _ string) answer { a.console.say("%s", strings.Join(args, " ")); return answer{} }, true
	}
	return nil, false
}

// cat prints its input without arguments, else files.
func cat(args []string, input string) answer {
	if len(args) == 0 {
		return answer{out: input}
	}
	var a answer
	for _, name := range args {
		b, err := os.ReadFile(name)
		if err != nil {
			a.err += fmt.Sprintf("cat: %v\n", err)
			a.code = 1
		}
		a.out += string(b)
	}
	return a
}

// sleep takes a Go duration, or seconds.
func sleep(args []string, _ string) answer {
	text := strings.Join(args, "")
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil {
		return answer{err: err.Error() + "\n", code: 1}
	}
	time.Sleep(d)
	return answer{}
}

func (e *execs) begin() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done == nil {
		e.done = map[int]*answer{}
	}
	e.last++
	pid := 1000 + e.last
	e.done[pid] = nil
	return pid
}

func (e *execs) end(pid int, a answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[pid] = &a
}

// status reports a command once it ended, and forgets it then, as the real
// agent does.
func (e *execs) status(arguments json.RawMessage) (any, error) {
	var args struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	a, known := e.done[args.PID]
	if !known {
		return nil, commandError{"GenericError", "PID " + fmt.Sprint(args.PID) + " does not exist"}
	}
	if a == nil {
		return map[string]any{"exited": false}, nil
	}
	delete(e.done, args.PID)
	status := map[string]any{"exited": true, "exitcode": a.code}
	if a.out != "" {
		status["out-data"] = base64.StdEncoding.EncodeToString([]byte(a.out))
	}
	if a.err != "" {
		status["err-data"] = base64.StdEncoding.EncodeToString([]byte(a.err))
	}
	return status, nil
}
