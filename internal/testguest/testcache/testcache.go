// Package testcache says where tests keep what is costly to make and the same
// for every run: a kernel, an image, QEMU's capabilities. Removing the folder
// is always safe.
package testcache

import (
	"fmt"
	"os"
	"path/filepath"
)

// Env overrides the folder.
const Env = "MUSTER_TEST_CACHE"

// Dir returns the folder for one kind of thing and makes it when missing. It is
// below $MUSTER_TEST_CACHE, else below the user's cache folder, else below the
// temporary folder where there is no home.
func Dir(kind string) (string, error) {
	root := os.Getenv(Env)
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			user = os.TempDir()
		}
		root = filepath.Join(user, "muster-test")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("test cache: %w", err)
	}
	dir := filepath.Join(root, kind)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("test cache: %w", err)
	}
	return dir, nil
}
