package sqlite

import "testing"

func TestIsNetworkType(t *testing.T) {
	for name, want := range map[string]bool{
		"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "fuse.sshfs": true, "9p": true, "ceph": true,
		"fuse.ceph-fuse": true, "fuse.glusterfs": true, "afpfs": false, "ext4": false, "xfs": false, "btrfs": false, "tmpfs": false,
		"overlay": false, "zfs": false, "apfs": false, "ufs": false, "fuseblk": false, "fuse.encfs": false, "": false,
	} {
		if got := isNetworkType(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
