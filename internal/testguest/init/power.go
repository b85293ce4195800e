package main

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/musterlab/terraform-provider-muster/internal/testguest/report"
)

// A struct input_event of a 64-bit kernel, and the event of a power button.
const (
	inputEventSize = 24
	eventKey       = 1
	keyPower       = 116
)

// watchPowerButton obeys the ACPI power button, which is an input device.
func watchPowerButton(con *console, set settings) {
	devices, _ := filepath.Glob("/dev/input/event*")
	for _, d := range devices {
		go watchInput(con, set, d)
	}
}

func watchInput(con *console, set settings, device string) {
	f, err := os.Open(device)
	if err != nil {
		con.say("%s: %v", device, err)
		return
	}
	defer f.Close()
	event := make([]byte, inputEventSize)
	for {
		if _, err := io.ReadFull(f, event); err != nil {
			return
		}
		kind, code := binary.LittleEndian.Uint16(event[16:]), binary.LittleEndian.Uint16(event[18:])
		pressed := event[20] == 1
		switch {
		case kind != eventKey || code != keyPower || !pressed:
		case set.ignoreACPI:
			con.say("%s", report.Ignored)
		default:
			powerOff(con)
		}
	}
}

func powerOff(con *console) {
	con.say("%s", report.Off)
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		con.say("power off: %v", err)
	}
}

func reboot(con *console) {
	con.say("reboot")
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART); err != nil {
		con.say("reboot: %v", err)
	}
}
