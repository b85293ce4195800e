package runner

import (
	"errors"
	"io"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// startOnTerminal gives the child a terminal of its own: it keeps prompt,
// colour and width, and a Ctrl-C typed here becomes its terminal's SIGINT, one
// and no more. Ours is in raw mode meanwhile.
func startOnTerminal(cmd *exec.Cmd, o Options, e *ears) (*process, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	resize := func() { _ = pty.InheritSize(o.Stdout, master) }
	resize()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if !term.IsTerminal(int(o.Stderr.Fd())) {
		cmd.Stderr = o.Stderr
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // of its descriptor 0
	err = cmd.Start()
	_ = slave.Close()
	if err != nil {
		return nil, errors.Join(err, master.Close())
	}
	before, err := term.MakeRaw(int(o.Stdin.Fd()))
	if err != nil {
		// Without raw mode Ctrl-C reaches us, and is passed on.
		before = nil
	}
	s := &screen{out: o.Stdout, raw: before != nil}
	go func() { _, _ = io.Copy(master, o.Stdin) }()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(tee(s, e), master) // ends with EIO once nobody holds the other end
	}()
	return &process{
		cmd: cmd, out: terminalOutput{s, o.Stdout}, resize: resize,
		finish: func() error {
			drain(copied, master.Close)
			_ = master.Close()
			s.draw(nil)
			if before == nil {
				return nil
			}
			s.setRaw(false)
			return term.Restore(int(o.Stdin.Fd()), before)
		},
	}, nil
}
