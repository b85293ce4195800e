package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/musterlab/terraform-provider-muster/internal/cli/draw"
	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// Options of one run.
type Options struct {
	Command  []string      // the child and its arguments
	Deadline time.Duration // when the child is interrupted; 0: never
	Receipts string        // file to which the operations are appended; "": none

	Stdin          *os.File
	Stdout, Stderr *os.File
}

const (
	drawEvery = 250 * time.Millisecond
	// sameWish is within which a SIGINT after another signal adds nothing: who
	// ends a job may send several.
	sameWish = 2 * time.Second
	// leaveFor is how long, after the child has ended, what it started may
	// hold its output open.
	leaveFor = time.Second
	// signalled is added to the number of the signal that ended a child, as
	// shells do.
	signalled = 128
)

// output is where a run shows things: a terminal or a log.
type output interface {
	// show is called several times a second.
	show(all []store.Operation, now time.Time)
	// say writes whole lines that stay.
	say(text string)
}

// process is the child, started.
type process struct {
	cmd    *exec.Cmd
	out    output
	resize func()             // the terminal has another size
	finish func() (err error) // takes in the rest of the output, after the end
}

// Run starts the child, attends to it and returns its exit code; 128 and the
// signal's number when one ended it. The error says why it did not start, or
// what went wrong with the receipts' file.
func Run(ctx context.Context, o Options) (code int, err error) {
	var receipts progress.Sink
	if o.Receipts != "" {
		receipts = progress.ToFile(o.Receipts)
		defer func() { err = errors.Join(err, receipts.Close()) }()
	}
	b := newBoard(receipts)
	receiver, err := progress.Listen(b.handle)
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGWINCH)
	defer signal.Stop(signals)

	cmd := exec.CommandContext(context.WithoutCancel(ctx), o.Command[0], o.Command[1:]...)
	cmd.Env = append(os.Environ(), progress.SocketEnv+"="+receiver.Path())
	start := startPiped
	if term.IsTerminal(int(o.Stdin.Fd())) && term.IsTerminal(int(o.Stdout.Fd())) {
		start = startOnTerminal
	}
	p, err := start(cmd, o, &ears{hear: b.hear})
	if err != nil {
		return 0, errors.Join(err, receiver.Close())
	}
	waitErr := attend(ctx, p, b, o.Deadline, signals)
	err = errors.Join(p.finish(), receiver.Close())
	now := time.Now()
	b.resolve(now, true)
	all := b.operations(now.Add(settleFor))
	p.out.show(all, now)
	if text := draw.Summary(all, now); text != "" {
		p.out.say("\n" + text)
	}
	return exitCode(cmd, waitErr), errors.Join(err, b.problem())
}

// attend draws, passes signals on and returns what waiting for the child did.
func attend(ctx context.Context, p *process, b *board, deadline time.Duration, signals <-chan os.Signal) error {
	waited := make(chan error, 1)
	go func() { waited <- p.cmd.Wait() }()
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	var due <-chan time.Time
	if deadline > 0 {
		timer := time.NewTimer(deadline)
		defer timer.Stop()
		due = timer.C
	}
	var asked time.Time // by something else than a SIGINT
	interrupted, done := false, ctx.Done()
	once := func(why string) {
		if !interrupted {
			interrupted, asked = true, time.Now()
			p.out.say("muster: " + why + "; the child is asked to end, which saves what it has done\n")
			p.interrupt()
		}
	}
	for {
		select {
		case err := <-waited:
			return err
		case now := <-tick.C:
			b.resolve(now, false)
			p.out.show(b.operations(now), now)
		case <-due:
			due = nil
			once("the deadline of " + progress.Span(deadline) + " has come")
		case <-done:
			done = nil
			once("this run was cancelled")
		case s := <-signals:
			switch s {
			case syscall.SIGWINCH:
				p.resize()
			case os.Interrupt: // one for each Ctrl-C: the second means it
				interrupted = true
				if time.Since(asked) > sameWish {
					p.interrupt()
				}
			default: // a CI that ends a job sends one after the other
				once("got the signal " + s.String())
			}
		}
	}
}

// interrupt sends SIGINT to the child's process group, as a terminal does.
func (p *process) interrupt() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT)
}

func exitCode(cmd *exec.Cmd, waitErr error) int {
	var ended *exec.ExitError
	if !errors.As(waitErr, &ended) {
		return cmd.ProcessState.ExitCode()
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal())
	}
	return ended.ExitCode()
}

// drain waits for copies of the child's output to end. What the child left
// running may hold it open: then closed is called.
func drain(copied <-chan struct{}, closed func() error) {
	select {
	case <-copied:
	case <-time.After(leaveFor):
		_ = closed()
		<-copied
	}
}

func (b *board) problem() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble == nil {
		return nil
	}
	return fmt.Errorf("write the receipts: %w", b.trouble)
}

// tee writes to all, stopping at nothing but the first's error.
func tee(first io.Writer, e *ears) io.Writer { return io.MultiWriter(first, e) }

// terminalOutput draws bars on a screen.
type terminalOutput struct {
	*screen
	file *os.File
}

func (t terminalOutput) show(all []store.Operation, now time.Time) {
	width, height, err := term.GetSize(int(t.file.Fd()))
	if err != nil || width <= 1 {
		return
	}
	t.draw(draw.Frame(all, width-1, max(1, height/2), now))
}

// logOutput writes a line a change.
type logOutput struct {
	*log
	lines draw.Lines
}

func (l *logOutput) show(all []store.Operation, now time.Time) {
	for _, o := range all {
		if lines := l.lines.Next(o, now); len(lines) > 0 {
			l.log.say(strings.Join(lines, "\n")+"\n", false)
		}
	}
}

func (l *logOutput) say(text string) { l.log.say(text, true) }
