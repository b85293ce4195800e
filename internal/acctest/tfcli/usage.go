package tfcli

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what one or several processes took.
type Usage struct {
	CPU       time.Duration // user and system time
	PeakRSS   int64         // bytes, of the largest process
	PeakSum   int64         // bytes, of all of them at one moment
	Processes int
}

// sampleEvery is how often memory is looked at. The kernel keeps each process's
// own peak, so only the last interval of its life can be missed.
const sampleEvery = 10 * time.Millisecond

// clockTick is the unit of the times in /proc/PID/stat: USER_HZ, which Linux
// has fixed at 100.
const clockTick = 10 * time.Millisecond

// sampler watches a terraform and the processes that it starts.
type sampler struct {
	pid  int
	stop chan struct{}
	done sync.WaitGroup

	seen     map[int]bool  // looked at; no need to ask again whose child it is
	children map[int]int64 // providers and their peak so far
	peak     int64         // terraform's
	sum      int64         // the providers', at one moment
	together int64
}

func sample(pid int) *sampler {
	s := &sampler{pid: pid, stop: make(chan struct{}), seen: map[int]bool{pid: true}, children: map[int]int64{}}
	s.done.Add(1)
	go s.run()
	return s
}

func (s *sampler) run() {
	defer s.done.Done()
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		s.look()
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
	}
}

func (s *sampler) look() {
	s.discover()
	own, peak := memory(s.pid)
	s.peak = max(s.peak, peak)
	var providers int64
	for pid, before := range s.children {
		now, peak := memory(pid)
		providers += now
		s.children[pid] = max(before, peak)
	}
	s.sum = max(s.sum, providers)
	s.together = max(s.together, own+providers)
}

// discover looks for new children of terraform.
func (s *sampler) discover() {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || s.seen[pid] {
			continue
		}
		s.seen[pid] = true
		if f, ok := stat(pid); ok && f.parent == s.pid {
			s.children[pid] = 0
		}
	}
}

// finish waits until terraform has ended and returns its CPU time and that of
// the processes that it has waited for, while it is not yet reaped.
func (s *sampler) finish() (own, children time.Duration) {
	for {
		err := unix.Waitid(unix.P_PID, s.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	if f, ok := stat(s.pid); ok {
		own, children = f.own, f.waited
	}
	close(s.stop)
	s.done.Wait()
	return own, children
}

func (s *sampler) fill(r *Result, own, children time.Duration) {
	r.Terraform = Usage{CPU: own, PeakRSS: s.peak, PeakSum: s.peak, Processes: 1}
	r.Provider = Usage{CPU: children, PeakSum: s.sum, Processes: len(s.children)}
	for _, peak := range s.children {
		r.Provider.PeakRSS = max(r.Provider.PeakRSS, peak)
	}
	r.PeakTogether = s.together
}

// memory returns the resident bytes of a process and the most that it ever had;
// zeros once it has ended.
func memory(pid int) (now, peak int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return kib(b, "VmRSS:"), kib(b, "VmHWM:")
}

func kib(status []byte, key string) int64 {
	_, rest, ok := bytes.Cut(status, []byte("\n"+key))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// processStat is what /proc/PID/stat says.
type processStat struct {
	parent int
	own    time.Duration // CPU time
	waited time.Duration // that of children which were waited for
}

func stat(pid int) (processStat, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, false
	}
	// The name, in parentheses, may hold anything.
	_, rest, ok := strings.Cut(string(b[max(0, bytes.LastIndexByte(b, ')')):]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 15 {
		return processStat{}, false
	}
	ticks := func(i int) time.Duration {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return time.Duration(n) * clockTick
	}
	parent, _ := strconv.Atoi(fields[1])
	return processStat{parent: parent, own: ticks(11) + ticks(12), waited: ticks(13) + ticks(14)}, true
}
