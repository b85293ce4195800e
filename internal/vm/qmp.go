package vm

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
)

// tap begins a capture in a running QEMU. An object that is there already is
// what was wanted.
func (m *Manager) tap(ctx context.Context, uuid string, t domxml.Tap, netdev string) error {
	err := m.qmp(ctx, uuid, "object-add", map[string]any{
		"qom-type": "filter-dump", "id": domxml.CaptureObject(t.NIC), "netdev": netdev, "file": t.File, "maxlen": 65535,
	})
	if err != nil && strings.Contains(err.Error(), "duplicate") {
		return nil
	}
	return err
}

// untap ends it; the file is complete at once.
func (m *Manager) untap(ctx context.Context, uuid, nic string) error {
	err := m.qmp(ctx, uuid, "object-del", map[string]any{"id": domxml.CaptureObject(nic)})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func (m *Manager) qmp(ctx context.Context, uuid, command string, args map[string]any) error {
	request, err := json.Marshal(map[string]any{"execute": command, "arguments": args})
	if err != nil {
		return err
	}
	_, err = m.host.Monitor(ctx, uuid, string(request))
	return err
}
