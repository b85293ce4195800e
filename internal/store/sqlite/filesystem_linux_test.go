package sqlite

import (
	"path/filepath"
	"testing"
)

const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:28 / /home/lab rw,relatime shared:5 master:2 - nfs4 filer:/home rw,vers=4.2
32 22 0:29 / /mnt/a\040b rw - fuse.sshfs lab@host:/ rw
`

func TestTypeOf(t *testing.T) {
	for device, want := range map[string]string{"254:0": "ext4", "0:28": "nfs4", "0:29": "fuse.sshfs", "0:99": ""} {
		if got := typeOf(mountinfo, device); got != want {
			t.Errorf("%s: %q, want %q", device, got, want)
		}
	}
}

func TestNetworkFilesystem_here(t *testing.T) {
	if name, network, err := networkFilesystem(t.TempDir()); err != nil || network {
		t.Errorf("the tests' own folder: %q, %v, %v", name, network, err)
	}
	if _, _, err := networkFilesystem(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there has a filesystem")
	}
}
