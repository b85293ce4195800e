package sqlite

import "strings"

// networkTypes are filesystems whose files other machines see as well, by the
// names that the systems give them. SQLite's locks and its shared memory do
// not reach those machines.
var networkTypes = []string{
	"nfs", "cifs", "smb", "afs", "9p", "ceph", "lustre", "gpfs", "glusterfs", "ocfs2", "gfs2",
	"webdav", "davfs", "sshfs", "s3fs", "s3ql", "gcsfuse", "rclone", "blobfuse", "goofys", "beegfs", "moosefs", "coda", "ncpfs", "orangefs", "pvfs2",
}

// isNetworkType reports whether name, such as "nfs4" or "fuse.sshfs", is one.
func isNetworkType(name string) bool {
	name = strings.TrimPrefix(strings.ToLower(name), "fuse.")
	for _, t := range networkTypes {
		if strings.HasPrefix(name, t) {
			return true
		}
	}
	return strings.HasPrefix(name, "fuse") && strings.Contains(name, "ssh")
}
