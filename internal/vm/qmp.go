package vm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
)

// The capture objects of a running QEMU, through its monitor: see
// https://www.qemu.org/docs/master/interop/qemu-qmp-ref.html (object-add,
// object-del, qom-list).

// taps returns the NICs that QEMU captures for us.
func (m *Manager) taps(ctx context.Context, uuid string) (map[string]bool, error) {
	text, err := m.qmp(ctx, uuid, "qom-list", map[string]any{"path": "/objects"})
	if err != nil {
		return nil, err
	}
	var reply struct{ Return []struct{ Name string } }
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		return nil, fmt.Errorf("qom-list: not the expected JSON: %w", err)
	}
	out := map[string]bool{}
	for _, o := range reply.Return {
		if nic, ok := domxml.CapturedNIC(o.Name); ok {
			out[nic] = true
		}
	}
	return out, nil
}

// tap begins a capture.
func (m *Manager) tap(ctx context.Context, uuid string, t domxml.Tap, netdev string) error {
	_, err := m.qmp(ctx, uuid, "object-add", map[string]any{
		"qom-type": "filter-dump", "id": domxml.CaptureObject(t.NIC), "netdev": netdev, "file": t.File, "maxlen": 65535,
	})
	return err
}

// untap ends it; the file is complete at once.
func (m *Manager) untap(ctx context.Context, uuid, nic string) error {
	_, err := m.qmp(ctx, uuid, "object-del", map[string]any{"id": domxml.CaptureObject(nic)})
	return err
}

func (m *Manager) qmp(ctx context.Context, uuid, command string, args map[string]any) (string, error) {
	request, err := json.Marshal(map[string]any{"execute": command, "arguments": args})
	if err != nil {
		return "", err
	}
	return m.host.Monitor(ctx, uuid, string(request))
}
