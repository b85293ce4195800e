package runner

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// startPiped starts the child with pipes for its output. It gets a process
// group of its own, so that a Ctrl-C reaches this process alone, which passes
// on exactly one.
func startPiped(cmd *exec.Cmd, o Options, e *ears) (*process, error) {
	l := &logOutput{log: newLog(o.Stdout, o.Stderr)}
	var readers, writers []*os.File
	closeAll := func(files []*os.File) (err error) {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		return err
	}
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, closeAll(readers), closeAll(writers))
		}
		readers, writers = append(readers, r), append(writers, w)
	}
	cmd.Stdout, cmd.Stderr = writers[0], writers[1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	feed, err := input(cmd, o.Stdin)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(readers), closeAll(writers))
	}
	feed()
	if err := closeAll(writers); err != nil {
		return nil, err
	}
	copied := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(tee(stream{l.log, 0}, e), readers[0]) })
	wg.Go(func() { _, _ = io.Copy(stream{l.log, 1}, readers[1]) })
	go func() {
		wg.Wait()
		close(copied)
	}()
	return &process{
		cmd: cmd, out: l, resize: func() {},
		finish: func() error {
			drain(copied, func() error { return closeAll(readers) })
			_ = closeAll(readers) // closed before where it was held open
			return nil
		},
	}, nil
}

// input gives the child our input. A terminal is read on its behalf: from
// another process group it would be stopped for reading.
func input(cmd *exec.Cmd, stdin *os.File) (feed func(), err error) {
	if !term.IsTerminal(int(stdin.Fd())) {
		cmd.Stdin = stdin
		return func() {}, nil
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return func() {
		go func() {
			_, _ = io.Copy(pipe, stdin)
			_ = pipe.Close()
		}()
	}, nil
}
