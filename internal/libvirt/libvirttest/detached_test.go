package libvirttest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLaunch_detachedRunsUntilDown(t *testing.T) {
	parent, err := os.MkdirTemp("", "lvd-")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "host")
	t.Cleanup(func() {
		if err := Down(context.WithoutCancel(t.Context()), dir); err != nil {
			t.Error(err)
		}
		_ = os.Remove(parent)
	})
	h, err := Launch(t.Context(), dir, Detached(), WithName("apart"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := Attach(dir)
	if err != nil || found.Name != "apart" || found.URI() != h.URI() {
		t.Fatalf("attached to %+v, %v", found, err)
	}
	if out, err := found.TryVirsh("hostname"); err != nil || out != "apart" {
		t.Errorf("hostname: %q, %v", out, err)
	}
	if err := Down(t.Context(), dir); err != nil {
		t.Error(err)
	}
	_ = h.keeper.Wait()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is still there")
	}
	if err := Down(t.Context(), dir); err != nil {
		t.Errorf("down twice: %v", err)
	}
}

func TestDown_refusesAForeignFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "precious")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not the folder of a host") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
