package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// agent speaks the protocol of QEMU's guest agent: a JSON object a line, each
// way.
type agent struct {
	system  *system
	seed    seed
	console *console
	execs   execs
}

type request struct {
	Execute   string          `json:"execute"`
	Arguments json.RawMessage `json:"arguments"`
	ID        json.RawMessage `json:"id,omitempty"`
}

// commandError is an error as the protocol has it.
type commandError struct {
	Class string `json:"class"`
	Desc  string `json:"desc"`
}

func (e commandError) Error() string { return e.Desc }

const agentPort = "org.qemu.guest_agent.0"

// portPoll is how often a port is looked at that nobody is connected to.
const portPoll = 50 * time.Millisecond

// serveAgent waits for the channel and serves it for ever; it may be plugged in
// later than the boot.
func serveAgent(con *console, set settings, a *agent) {
	if set.noAgent {
		return
	}
	time.Sleep(set.agentAfter)
	var path string
	for path = findPort(agentPort); path == ""; path = findPort(agentPort) {
		time.Sleep(portPoll)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		con.say("agent: %v", err)
		return
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		switch {
		case err != nil: // the host's side is not connected
			time.Sleep(portPoll)
		case set.agentSilent:
		default:
			if _, err := f.Write(a.answer(line)); err != nil {
				con.say("agent: %v", err)
			}
		}
	}
}

func findPort(name string) string {
	files, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(b)) == name {
			return "/dev/" + filepath.Base(filepath.Dir(f))
		}
	}
	return ""
}

// answer returns the reply to one line; nothing to what is no request.
func (a *agent) answer(line []byte) []byte {
	var q request
	if json.Unmarshal(bytes.TrimLeft(line, "\xff"), &q) != nil || q.Execute == "" {
		return nil
	}
	reply := map[string]any{}
	result, err := a.execute(q)
	var refused commandError
	switch {
	case err == nil:
		reply["return"] = result
	case errors.As(err, &refused):
		reply["error"] = refused
	default:
		reply["error"] = commandError{"GenericError", err.Error()}
	}
	if q.ID != nil {
		reply["id"] = q.ID
	}
	b, err := json.Marshal(reply)
	if err != nil {
		b = []byte(`{"error":{"class":"GenericError","desc":"reply cannot be encoded"}}`)
	}
	if q.Execute == "guest-sync-delimited" {
		b = append([]byte{0xff}, b...)
	}
	return append(b, '\n')
}

var nothing = struct{}{}

func (a *agent) execute(q request) (any, error) {
	switch q.Execute {
	case "guest-sync", "guest-sync-delimited":
		var args struct {
			ID int64 `json:"id"`
		}
		err := json.Unmarshal(q.Arguments, &args)
		return args.ID, err
	case "guest-ping":
		return nothing, nil
	case "guest-info":
		return guestInfo(), nil
	case "guest-get-host-name":
		name, err := os.Hostname()
		return map[string]any{"host-name": name}, err
	case "guest-get-osinfo":
		return map[string]any{"id": "muster-guest", "name": "Muster test guest", "kernel-release": kernelRelease()}, nil
	case "guest-get-time":
		return time.Now().UnixNano(), nil
	case "guest-network-get-interfaces":
		return agentInterfaces()
	case "guest-exec":
		return a.exec(q.Arguments)
	case "guest-exec-status":
		return a.execs.status(q.Arguments)
	case "guest-fsfreeze-status":
		return "thawed", nil
	case "guest-shutdown":
		return nothing, a.shutdown(q.Arguments)
	}
	return nil, commandError{"CommandNotFound", "The command " + q.Execute + " has not been found"}
}

func guestInfo() any {
	type command struct {
		Name            string `json:"name"`
		Enabled         bool   `json:"enabled"`
		SuccessResponse bool   `json:"success-response"`
	}
	var commands []command
	for _, name := range []string{
		"guest-sync", "guest-sync-delimited", "guest-ping", "guest-info", "guest-get-host-name", "guest-get-osinfo", "guest-get-time",
		"guest-network-get-interfaces", "guest-exec", "guest-exec-status", "guest-fsfreeze-status", "guest-shutdown",
	} {
		commands = append(commands, command{name, true, name != "guest-shutdown"})
	}
	return map[string]any{"version": "7.2.0", "supported_commands": commands}
}

// shutdown acts a moment after its reply, which the host may or may not see.
func (a *agent) shutdown(arguments json.RawMessage) error {
	var args struct {
		Mode string `json:"mode"`
	}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &args); err != nil {
			return err
		}
	}
	act := powerOff
	switch args.Mode {
	case "", "powerdown", "halt":
	case "reboot":
		act = reboot
	default:
		return commandError{"GenericError", "shutdown mode '" + args.Mode + "' is not known"}
	}
	time.AfterFunc(50*time.Millisecond, func() { unix.Sync(); act(a.console) })
	return nil
}
