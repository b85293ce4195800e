package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// console is the first serial port, or what the kernel takes for the console.
type console struct {
	mu   sync.Mutex
	file *os.File
}

func openConsole() *console {
	for _, path := range []string{"/dev/ttyS0", "/dev/console"} {
		if f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0); err == nil {
			return &console{file: f}
		}
	}
	return &console{file: os.Stderr}
}

// say writes a line. That nobody can read it is no reason to stop.
func (c *console) say(format string, args ...any) { c.write(fmt.Sprintf(format, args...) + "\r\n") }

func (c *console) write(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.file.WriteString(s)
}

// offerLogin shows the prompt of a system that is up, and lets nobody in.
func offerLogin(con *console) {
	name, err := os.Hostname()
	if err != nil {
		name = "guest"
	}
	lines := bufio.NewScanner(con.file)
	for {
		con.write("\r\n" + name + " login: ")
		if !lines.Scan() {
			return
		}
		con.say("Login incorrect (%q)", lines.Text())
	}
}
