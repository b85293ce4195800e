package libvirttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestHost_answersAndHasPool(t *testing.T) {
	h := Start(t, WithName("lab-a"))
	if got := h.Virsh("hostname"); got != "lab-a" {
		t.Errorf("hostname is %q", got)
	}
	if got := h.Virsh("pool-list", "--name"); got != "default" {
		t.Errorf("active pools: %q", got)
	}
	h.Virsh("vol-create-as", "default", "a.raw", "1M")
	if _, err := os.Stat(h.Dir + "/images/a.raw"); err != nil {
		t.Error(err)
	}
	if _, err := h.TryVirsh("domstate", "nobody"); err == nil || !strings.Contains(err.Error(), "failed to get domain") {
		t.Errorf("unexpected error: %v", err)
	}
}

const testNetwork = `<network>
  <name>lab</name><forward mode='nat'/>
  <bridge name='virbr7' stp='off' delay='0'/>
  <ip address='10.77.0.1' netmask='255.255.255.0'><dhcp><range start='10.77.0.50' end='10.77.0.99'/></dhcp></ip>
</network>`

func TestHost_severalUseTheSameBridgeName(t *testing.T) {
	file := writeFile(t, testNetwork)
	uuids := map[string]bool{}
	for range 2 {
		h := Start(t)
		h.Virsh("net-create", file)
		if out, err := h.Exec("ip", "-br", "addr", "show", "virbr7"); err != nil || !strings.Contains(out, "10.77.0.1/24") {
			t.Errorf("bridge: %q, %v", out, err)
		}
		_, after, _ := strings.Cut(h.Virsh("capabilities"), "<uuid>")
		uuids[after[:36]] = true
		if _, err := os.Stat("/sys/class/net/virbr7"); err == nil {
			t.Error("the bridge is visible outside the host")
		}
	}
	if len(uuids) != 2 {
		t.Errorf("host UUIDs: %v", uuids)
	}
}

// emptyVM runs no system at all: a QEMU process is all that is wanted.
func emptyVM(h *Host) string {
	return fmt.Sprintf(`<domain type='%s'><name>empty</name><memory unit='MiB'>32</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
  <devices><memballoon model='none'/><controller type='usb' model='none'/></devices></domain>`, h.DomainType())
}

func TestHost_daemonComesBackWithItsVMs(t *testing.T) {
	h := Start(t)
	h.Virsh("create", writeFile(t, emptyVM(h)))
	h.KillDaemon()
	if _, err := h.TryVirsh("list"); err == nil {
		t.Error("the daemon answers after it was killed")
	}
	h.StartDaemon()
	if got := h.Virsh("domstate", "empty"); got != "running" {
		t.Errorf("after a kill: %s", got)
	}
	h.RestartDaemon()
	if got := h.Virsh("domstate", "empty"); got != "running" {
		t.Errorf("after a restart: %s", got)
	}
	h.Virsh("destroy", "empty")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reaped := func() bool {
		out, err := h.Exec("ps", "-eo", "stat=")
		return err == nil && !strings.Contains(out, "Z")
	}
	if err := poll(ctx, reaped); err != nil {
		t.Errorf("orphans are not reaped: %v", err)
	}
}

func TestHost_frozenDaemonIsSilent(t *testing.T) {
	h := Start(t)
	thaw := h.FreezeDaemon()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := h.virsh(ctx, "list"); err == nil {
		t.Error("a frozen daemon answers")
	}
	thaw()
	h.Virsh("list")
}

func TestHost_testDriverKeepsWhatWasDefined(t *testing.T) {
	h := Start(t)
	h.VirshTest("define", writeFile(t, strings.Replace(emptyVM(h), h.DomainType(), "test", 1)))
	if got := h.VirshTest("list", "--all", "--name"); !strings.Contains(got, "empty") {
		t.Errorf("domains of the test driver: %q", got)
	}
	if got := h.Virsh("list", "--all", "--name"); got != "" {
		t.Errorf("domains of the QEMU driver: %q", got)
	}
}

func TestHost_withoutKVMOffersEmulationOnly(t *testing.T) {
	h := Start(t, WithoutKVM())
	if got := h.DomainType(); got != "qemu" {
		t.Errorf("domain type %s", got)
	}
	h.Virsh("create", writeFile(t, emptyVM(h)))
}

func TestHost_unprivilegedQEMU(t *testing.T) {
	h := Start(t, WithUnprivilegedQEMU())
	h.Virsh("create", writeFile(t, emptyVM(h)))
	out, err := h.Exec("sh", "-c", `ps -o user= -p "$(cat /run/libvirt/qemu/empty.pid)"`)
	if err != nil || !strings.HasPrefix(out, "libvirt") {
		t.Errorf("QEMU runs as %q, %v", out, err)
	}
}

// TestHost_leavesNothing runs this test program again, kills it and looks for
// what is left of its host.
func TestHost_leavesNothing(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild_waitsToBeKilled$", "-test.v")
	cmd.Env = append(os.Environ(), "LIBVIRTTEST_CHILD=1", "TMPDIR="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	var keeper int
	for dir == "" {
		line := make([]byte, 4096)
		n, err := stdout.Read(line)
		if err != nil {
			t.Fatalf("child ended: %v", err)
		}
		if _, rest, ok := strings.Cut(string(line[:n]), "HOST "); ok {
			_, err := fmt.Sscan(rest, &dir, &keeper)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	inside, err := os.Readlink("/proc/" + strconv.Itoa(keeper) + "/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	gone := func() bool { _, err := os.Stat(dir); return err != nil && processesIn(inside) == 0 }
	if err := poll(ctx, gone); err != nil {
		t.Errorf("%d processes are left; folder: %v", processesIn(inside), err)
	}
}

func processesIn(pidNamespace string) (n int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if ns, err := os.Readlink("/proc/" + e.Name() + "/ns/pid"); err == nil && ns == pidNamespace {
			n++
		}
	}
	return n
}

func TestChild_waitsToBeKilled(t *testing.T) {
	if os.Getenv("LIBVIRTTEST_CHILD") == "" {
		return // only ever a part of TestHost_leavesNothing
	}
	h := Start(t)
	h.Virsh("create", writeFile(t, emptyVM(h)))
	fmt.Println("HOST", h.Dir, h.pid)
	select {}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "*.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// TestHost_startsFirmwareAndTPM needs swtpm's certificate authority and OVMF's
// variables, which the host has in folders of its own.
func TestHost_startsFirmwareAndTPM(t *testing.T) {
	for name, opts := range map[string][]Option{"root": nil, "unprivileged": {WithUnprivilegedQEMU()}} {
		t.Run(name, func(t *testing.T) {
			h := Start(t, opts...)
			xml := strings.NewReplacer(
				"<os>", "<os firmware='efi'>", "<name>empty", "<name>secure", "</devices>",
				"<tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm></devices>").Replace(emptyVM(h))
			h.Virsh("define", writeFile(t, xml))
			h.Virsh("start", "secure")
			h.Virsh("destroy", "secure")
			h.Virsh("undefine", "secure", "--nvram")
		})
	}
}
