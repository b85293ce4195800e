package consoledata

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// tail is the end of a console's log.
type tail struct {
	Text      string
	Exists    bool // there is a log at all
	Truncated bool // the log holds more
}

// readTail returns the last lines of a VM's console log, at most maxBytes of
// it. Virtlogd moves a full log to .0, that to .1, and so on: the older files
// are read as far as the newer ones do not fill the measure.
func readTail(ctx context.Context, host *libvirt.Host, uuid string, lines int, maxBytes int64) (tail, error) {
	// Files appear in the pool by a refresh only: the first log, and each turn.
	if err := host.RefreshPool(ctx, vm.ConsolePool); err != nil {
		if fault.Is(err, fault.NotFound) {
			return tail{}, nil // no VM of this host ever had a console
		}
		return tail{}, err
	}
	names, err := host.Volumes(ctx, vm.ConsolePool)
	if err != nil {
		return tail{}, err
	}
	var out tail
	var data []byte
	for _, name := range logsOf(names, vm.ConsoleVolume(uuid)) {
		out.Exists = true
		room := maxBytes - int64(len(data))
		if room <= 0 || bytes.Count(data, []byte("\n")) > lines {
			out.Truncated = true
			break
		}
		part, whole, err := readEnd(ctx, host, name, room)
		if fault.Is(err, fault.NotFound) {
			continue // turned over in this moment
		}
		if err != nil {
			return tail{}, err
		}
		data = append(part, data...)
		out.Truncated = out.Truncated || !whole
	}
	var cut bool
	out.Text, cut = lastLines(clean(data), lines)
	out.Truncated = out.Truncated || cut
	return out, nil
}

// logsOf returns the log and its forebears, newest first.
func logsOf(names []string, log string) []string {
	turn := map[string]int{}
	var found []string
	for _, n := range names {
		if n == log {
			turn[n] = -1
			found = append(found, n)
			continue
		}
		if rest, ok := strings.CutPrefix(n, log+"."); ok {
			if i, err := strconv.Atoi(rest); err == nil && i >= 0 {
				turn[n] = i
				found = append(found, n)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return turn[a] - turn[b] })
	return found
}

// readEnd returns at most max bytes of the end of a log, and whether that is
// all of it.
func readEnd(ctx context.Context, host *libvirt.Host, name string, maxBytes int64) (data []byte, whole bool, err error) {
	v, err := host.Volume(ctx, vm.ConsolePool, name)
	if err != nil {
		return nil, false, err
	}
	offset := uint64(0)
	if v.CapacityBytes > uint64(maxBytes) {
		offset = v.CapacityBytes - uint64(maxBytes)
	}
	buf := &bounded{max: int(maxBytes)}
	if _, err := host.Download(ctx, vm.ConsolePool, name, offset, 0, buf); err != nil {
		return nil, false, err
	}
	return buf.Bytes(), offset == 0 && !buf.dropped, nil
}

// bounded keeps the last max bytes written to it: the log may grow while it is
// read.
type bounded struct {
	bytes.Buffer
	max     int
	dropped bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p) // a bytes.Buffer never fails
	if over := b.Len() - b.max; over > 0 {
		b.Next(over)
		b.dropped = true
	}
	return len(p), nil
}

// escapes are the terminal's control sequences: CSI, OSC, and the short ones.
var escapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])`)

// clean returns console output as text that does nothing to a terminal.
func clean(data []byte) string {
	s := strings.ToValidUTF8(string(data), "\uFFFD")
	s = escapes.ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= 0x20 && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, s)
}

// lastLines returns the last n lines, and whether there were more.
func lastLines(s string, n int) (string, bool) {
	end := len(s)
	if strings.HasSuffix(s, "\n") {
		end--
	}
	at := end
	for range n {
		i := strings.LastIndexByte(s[:at], '\n')
		if i < 0 {
			return s, false
		}
		at = i
	}
	return s[at+1:], true
}
