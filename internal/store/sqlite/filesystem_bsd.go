//go:build darwin || freebsd

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// networkFilesystem reports whether dir lies on one, and which.
func networkFilesystem(dir string) (name string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		name += string(rune(c))
	}
	return name, isNetworkType(name), nil
}
