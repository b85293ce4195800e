package tfcli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/testguest/testcache"
)

const (
	module     = "github.com/musterlab/terraform-provider-muster"
	binaryName = "terraform-provider-muster"
	buildLimit = 15 * time.Minute // a cold build of all dependencies on two cores
	keepBuilds = 24 * time.Hour
)

// provider builds the provider once for this process and returns the folder
// that holds its binary, as dev_overrides wants it. The folder is named by the
// binary's content, so that several processes may build and run at once.
var provider = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	root, err := testcache.Dir("provider")
	if err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(root, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	binary := filepath.Join(work, binaryName)
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", binary, module)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the provider: %w: %s", err, out)
	}
	key, err := digest(binary)
	if err != nil {
		return "", err
	}
	final := filepath.Join(root, "build-"+key)
	if err := os.Rename(work, final); err != nil && !exists(filepath.Join(final, binaryName)) {
		return "", err
	}
	now := time.Now()
	_ = os.Chtimes(final, now, now)
	prune(root, final)
	return final, nil
})

// Binary returns the path of the provider's binary, which is built from this
// module when it has not been in this process. The current folder must be
// inside the module.
func Binary() (string, error) {
	dir, err := provider()
	return filepath.Join(dir, binaryName), err
}

func digest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// prune removes builds that nobody has used for a while.
func prune(root, mine string) {
	builds, _ := filepath.Glob(filepath.Join(root, "*"))
	for _, b := range builds {
		if info, err := os.Stat(b); err == nil && b != mine && time.Since(info.ModTime()) > keepBuilds {
			_ = os.RemoveAll(b)
		}
	}
}
