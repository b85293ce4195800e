package vm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// agentLimit is how long one command to the guest agent may take.
const agentLimit = 5 * time.Second

// guestRun runs a program in the guest through its agent and returns what it
// wrote to standard output, whatever its exit code. See
// https://qemu-project.gitlab.io/qemu/interop/qemu-ga-ref.html (guest-exec).
func (m *Manager) guestRun(ctx context.Context, uuid, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*agentLimit)
	defer cancel()
	started, err := agentCall[struct{ PID int }](ctx, m, uuid, "guest-exec", map[string]any{"path": program, "arg": args, "capture-output": true})
	if err != nil {
		return "", err
	}
	for {
		status, err := agentCall[struct {
			Exited   bool
			ExitCode int    `json:"exitcode"`
			Out      string `json:"out-data"`
		}](ctx, m, uuid, "guest-exec-status", map[string]any{"pid": started.PID})
		if err != nil {
			return "", err
		}
		if status.Exited {
			out, err := base64.StdEncoding.DecodeString(status.Out)
			return string(out), err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%s did not end within %s: %w", program, 2*agentLimit, context.Cause(ctx))
		case <-time.After(pollEvery):
		}
	}
}

func agentCall[T any](ctx context.Context, m *Manager, uuid, command string, args map[string]any) (T, error) {
	var reply struct{ Return T }
	request, err := json.Marshal(map[string]any{"execute": command, "arguments": args})
	if err != nil {
		return reply.Return, err
	}
	text, err := m.host.Agent(ctx, uuid, string(request), agentLimit)
	if err != nil {
		return reply.Return, err
	}
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		return reply.Return, fmt.Errorf("guest agent: %s: not the expected JSON", command)
	}
	return reply.Return, nil
}
