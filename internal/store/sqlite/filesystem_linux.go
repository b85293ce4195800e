package sqlite

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// networkFilesystem reports whether dir lies on one, and which.
func networkFilesystem(dir string) (name string, network bool, err error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", false, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", false, nil //nolint:nilerr // a system without it: nothing is known against the place
	}
	name = typeOf(string(mounts), fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	return name, isNetworkType(name), nil
}

// typeOf returns the type of the filesystem on that device in the text of
// /proc/self/mountinfo (proc(5)), or "".
func typeOf(mountinfo, device string) string {
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != device {
			continue
		}
		_, rest, found := strings.Cut(line, " - ")
		if found {
			name, _, _ := strings.Cut(rest, " ")
			return name
		}
	}
	return ""
}
