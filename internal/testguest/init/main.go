// Init is the only program of the test guest and its PID 1. It loads the
// kernel's modules, reads a NoCloud seed, configures the network, serves the
// guest agent and stays until the machine is powered off.
//
// Lines of user-data, also those behind a "#", direct it; all times are Go
// durations and count from the boot:
//
//	unit NAME STATE [AFTER STATE]...    what systemctl says: active, activating, failed, inactive
//	job UNIT [TYPE [STATE [UNTIL]]]     one more line of systemctl list-jobs
//	link NAME SETUP [AFTER SETUP]...    what networkctl says of a link: configuring, configured, failed
//	ignore-acpi                         the power button does nothing
//	no-dhcp                             links without static addresses stay unconfigured
//	no-agent, agent-after AFTER         no agent, or not yet
//	agent-silent                        an agent that is connected and never answers
//	print TEXT                          a line on the console
//	flood N                             N numbered lines of 100 bytes on the console
//	power-off-after AFTER               the guest powers itself off
//	crash-after AFTER                   the kernel panics
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterlab/terraform-provider-muster/internal/testguest/report"
)

// networkPatience is how long the boot waits for addresses before it goes on
// without, as systemd does after two minutes.
const networkPatience = 15 * time.Second

func main() {
	mountKernelFilesystems()
	con := openConsole()
	con.say("%s, kernel %s", report.Booting, kernelRelease())
	loadModules(con)
	seed := findSeed(con)
	seed.apply(con)
	set, problems := parseDirectives(seed.userData)
	for _, p := range problems {
		con.say("user-data: %s", p)
	}
	go watchPowerButton(con, set)

	sys := newSystem(set, time.Now())
	go serveAgent(con, set, &agent{system: sys, seed: seed, console: con})
	net := newNetwork(con, sys, set, seed)
	net.start()
	for _, line := range set.print {
		con.say("%s", line)
	}
	for i := range set.flood {
		con.say("flood %06d %s", i, strings.Repeat("x", 100-len("flood 000000 \r\n")))
	}
	if !net.await(networkPatience) {
		con.say("network is not complete")
	}
	sys.booted()
	con.say("%s", report.Ready)
	go offerLogin(con)
	awaitEnd(con, set)
}

// awaitEnd never returns: the machine ends before.
func awaitEnd(con *console, set settings) {
	if set.crashAfter > 0 {
		time.AfterFunc(set.crashAfter, func() {
			con.say("crash")
			os.Exit(1) // the kernel panics when its init ends
		})
	}
	if set.powerOffAfter > 0 {
		time.AfterFunc(set.powerOffAfter, func() { powerOff(con) })
	}
	select {}
}

func mountKernelFilesystems() {
	for _, fs := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}} {
		if err := os.MkdirAll(fs[1], 0o755); err == nil {
			err = unix.Mount(fs[0], fs[1], fs[0], 0, "")
			if err != nil && !errors.Is(err, unix.EBUSY) {
				fmt.Fprintf(os.Stderr, "mount %s: %v\n", fs[1], err)
			}
		}
	}
}

func kernelRelease() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

// loadModules loads what the builder put into /modules, in its order.
func loadModules(con *console) {
	order, err := os.ReadFile("/modules/order")
	if err != nil {
		con.say("modules: %v", err)
		return
	}
	for _, name := range strings.Fields(string(order)) {
		if err := loadModule("/modules/" + name); err != nil {
			con.say("module %s: %v", name, err)
		}
	}
}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && err != unix.EEXIST {
		return err
	}
	return nil
}
