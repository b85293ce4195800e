package presence

import (
	"bytes"
	"fmt"
	"os"
)

// processStart returns when a process began, in clock ticks since boot, and
// whether there is one of that number. With it a number that was used again is
// not taken for the process that had it (proc(5), field 22 of stat).
func processStart(pid int) (string, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const start = 22 - 3 // the first field behind the name is the third
	if len(fields) <= start {
		return "", false
	}
	return string(fields[start]), true
}
