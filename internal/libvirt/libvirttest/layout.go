package libvirttest

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A host's folder. The daemon sees run, etc, lib and log at the usual
// places (/run/libvirt, /etc/libvirt and so on); all others see them here.
func socketDir(dir string) string     { return filepath.Join(dir, "run") }
func socketPath(dir string) string    { return filepath.Join(dir, "run", "libvirt-sock") }
func imagesDir(dir string) string     { return filepath.Join(dir, "images") }
func pkiDir(dir string) string        { return filepath.Join(dir, "pki") }
func daemonConf(dir string) string    { return filepath.Join(dir, "libvirtd.conf") }
func daemonPIDFile(dir string) string { return filepath.Join(dir, "libvirtd.pid") }
func daemonLog(dir string) string     { return filepath.Join(dir, "libvirtd.log") }
func keeperPIDFile(dir string) string { return filepath.Join(dir, "keeper.pid") }

// Ports inside the host's own network namespace.
const (
	tcpPort = 16509
	tlsPort = 16514
)

const defaultPoolXML = `<pool type='dir'>
  <name>default</name>
  <target><path>%s</path></target>
</pool>
`

// The ids that Debian gives to QEMU.
const (
	qemuUser = "libvirt-qemu"
	qemuID   = 64055
)

// layOut fills the host's folder with everything the daemons read.
func layOut(dir string, c *config) error {
	for _, d := range []string{"run", "etc/qemu", "etc/storage/autostart", "lib/dnsmasq", "swtpm/ca", "swtpm/log", "log", "images"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	// QEMU and dnsmasq may run as users of their own: every folder on the way
	// is passable, whatever the umask.
	for _, d := range []string{".", "run", "etc", "lib", "lib/dnsmasq", "log", "images"} {
		if err := os.Chmod(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	if c.unprivileged {
		for _, d := range []string{"swtpm/ca", "swtpm/log"} {
			if err := os.Chown(filepath.Join(dir, d), qemuID, qemuID); err != nil {
				return err
			}
		}
	}
	if c.tls {
		if err := writeHostPKI(pkiDir(dir)); err != nil {
			return err
		}
	}
	files := map[string]string{
		"libvirtd.conf":           libvirtdConf(dir, c),
		"virtlogd.conf":           "max_size = 2097152\nmax_backups = 3\n",
		"etc/qemu.conf":           qemuConf(c),
		"etc/storage/default.xml": fmt.Sprintf(defaultPoolXML, imagesDir(dir)),
		"shadow":                  "root:*:1::::::\n", // not locked: sshd refuses an account that is
		"hosts":                   "127.0.0.1 localhost\n127.0.1.1 " + c.name + "\n",
	}
	for _, db := range []string{"passwd", "group"} {
		text, err := withDaemonUsers("/etc/" + db)
		if err != nil {
			return err
		}
		files[db] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.Symlink("/etc/libvirt/storage/default.xml", filepath.Join(dir, "etc/storage/autostart/default.xml"))
}

func libvirtdConf(dir string, c *config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "unix_sock_dir = %q\n", socketDir(dir))
	b.WriteString("unix_sock_rw_perms = \"0777\"\nunix_sock_ro_perms = \"0777\"\nauth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\n")
	fmt.Fprintf(&b, "host_uuid = %q\n", newUUID())
	fmt.Fprintf(&b, "log_level = 3\nlog_outputs = \"3:file:%s\"\n", daemonLog(dir))
	fmt.Fprintf(&b, "listen_addr = \"127.0.0.1\"\nlisten_tcp = %d\nlisten_tls = %d\n", digit(c.tcp), digit(c.tls))
	fmt.Fprintf(&b, "tcp_port = \"%d\"\ntls_port = \"%d\"\nauth_tcp = \"none\"\n", tcpPort, tlsPort)
	if c.tls {
		pki := hostPKI(pkiDir(dir))
		fmt.Fprintf(&b, "auth_tls = \"none\"\nca_file = %q\ncert_file = %q\nkey_file = %q\n", pki.CAFile, pki.serverCert, pki.serverKey)
	}
	return b.String()
}

func qemuConf(c *config) string {
	user := "root"
	if c.unprivileged {
		user = qemuUser
	}
	return fmt.Sprintf("user = %q\ngroup = %q\nswtpm_user = %q\nswtpm_group = %q\n", user, user, user, user) +
		"security_driver = \"none\"\nremember_owner = 0\ncgroup_controllers = []\nnamespaces = []\nstdio_handler = \"logd\"\n"
}

// withDaemonUsers returns a user or group database with the accounts that
// libvirt's system packages would have made, whether they are installed or not.
func withDaemonUsers(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(b), "\n") + "\n"
	for i, name := range []string{qemuUser, "libvirt-dnsmasq"} {
		if strings.HasPrefix(text, name+":") || strings.Contains(text, "\n"+name+":") {
			continue
		}
		line := fmt.Sprintf("%s:x:%d:", name, qemuID+i)
		if strings.HasSuffix(path, "passwd") {
			line += fmt.Sprintf("%d::/var/lib/libvirt:/usr/sbin/nologin", qemuID+i)
		}
		text += line + "\n"
	}
	return text, nil
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func digit(on bool) int {
	if on {
		return 1
	}
	return 0
}
