package cloudinit_test

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/kdomanski/iso9660"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/musterlab/terraform-provider-muster/internal/cloudinit"
)

var full = cloudinit.Seed{
	InstanceID:    "i-1",
	Hostname:      "node-1",
	UserData:      "#cloud-config\nhostname: node-1\n",
	NetworkConfig: "version: 2\nethernets: {}\n",
	VendorData:    "#!/bin/sh\n",
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// readBack reads an image with a reader that shares nothing with the writer.
func readBack(t fataler, data []byte) (label string, files map[string]string) {
	t.Helper()
	img, err := iso9660.OpenImage(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("open image: %v", err)
	}
	if label, err = img.Label(); err != nil {
		t.Fatalf("label: %v", err)
	}
	root, err := img.RootDir()
	if err != nil {
		t.Fatalf("root: %v", err)
	}
	children, err := root.GetChildren()
	if err != nil {
		t.Fatalf("children: %v", err)
	}
	files = map[string]string{}
	for _, c := range children {
		content, err := io.ReadAll(c.Reader())
		if err != nil {
			t.Fatalf("read %s: %v", c.Name(), err)
		}
		files[c.Name()] = string(content)
		if c.Mode().Perm() != 0o444 {
			t.Fatalf("%s has mode %v", c.Name(), c.Mode())
		}
		if want := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); !c.ModTime().Equal(want) {
			t.Fatalf("%s has the time %v, want %v", c.Name(), c.ModTime(), want)
		}
	}
	return label, files
}

func build(t fataler, s cloudinit.Seed) cloudinit.Image {
	t.Helper()
	img, err := cloudinit.Build(s)
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return img
}

func TestBuild_filesAreThereUnderTheirNames(t *testing.T) {
	img := build(t, full)
	label, files := readBack(t, img.Data)
	if label != "cidata" {
		t.Errorf("label is %q, want cidata", label)
	}
	want := map[string]string{
		"user-data": full.UserData, "network-config": full.NetworkConfig, "vendor-data": full.VendorData,
		"meta-data": "instance-id: \"i-1\"\nlocal-hostname: \"node-1\"\n",
	}
	for name, content := range want {
		if files[name] != content {
			t.Errorf("%s holds %q, want %q", name, files[name], content)
		}
	}
	if len(files) != len(want) {
		t.Errorf("the image holds %d files, want %d", len(files), len(want))
	}
}

func TestBuild_leavesOutWhatIsEmpty(t *testing.T) {
	_, files := readBack(t, build(t, cloudinit.Seed{InstanceID: "i-1"}).Data)
	var names []string
	for n := range files {
		names = append(names, n)
	}
	sort.Strings(names)
	if got := strings.Join(names, " "); got != "meta-data user-data" {
		t.Errorf("the image of an empty seed holds %q", got)
	}
}

// Seed volumes are named by this digest: another one for the same input makes
// every VM's seed anew at the next apply.
func TestBuild_digestIsAPromise(t *testing.T) {
	const golden = "18e00ee1c355bc8b68170c0d1bb01a70166186dc6ec81db6ef1a192e3bfa1cf2"
	if got := build(t, full).Digest; got != golden {
		t.Errorf("digest %s, want %s", got, golden)
	}
}

func TestBuild_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytesOf := func(label string) string {
			b := rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(t, label)
			return string(b)
		}
		s := cloudinit.Seed{
			InstanceID: rapid.StringMatching(`[a-z0-9.:-]{1,40}`).Draw(t, "id"),
			Hostname:   rapid.StringMatching(`[a-z0-9-]{1,40}`).Draw(t, "hostname"),
			UserData:   bytesOf("user data"), NetworkConfig: bytesOf("network"), VendorData: bytesOf("vendor"),
		}
		a, b := build(t, s), build(t, s)
		if !bytes.Equal(a.Data, b.Data) || a.Digest != b.Digest {
			t.Fatalf("the same seed gave two images")
		}
		if len(a.Data)%2048 != 0 {
			t.Fatalf("the image ends inside a sector: %d bytes", len(a.Data))
		}
		_, files := readBack(t, a.Data)
		if files["user-data"] != s.UserData || files["network-config"] != s.NetworkConfig || files["vendor-data"] != s.VendorData {
			t.Fatalf("a file's content did not survive")
		}
		var meta map[string]string
		if err := yaml.Unmarshal([]byte(files["meta-data"]), &meta); err != nil {
			t.Fatalf("meta-data: %v", err)
		}
		if meta["instance-id"] != s.InstanceID || meta["local-hostname"] != s.Hostname {
			t.Fatalf("meta-data says %v of %q %q", meta, s.InstanceID, s.Hostname)
		}
		s.UserData += "\n"
		if build(t, s).Digest == a.Digest {
			t.Fatalf("changed user data kept the digest")
		}
	})
}

func TestBuild_metaData(t *testing.T) {
	tests := []struct{ behaviour, extra, want string }{
		{"extra keys follow", "cluster: a\npublic-keys: [k]\n", "instance-id: \"i-1\"\nlocal-hostname: \"node-1\"\ncluster: a\npublic-keys: [k]\n"},
		{"a stated instance-id wins", "instance-id: mine\n", "local-hostname: \"node-1\"\ninstance-id: mine\n"},
		{"a stated hostname wins", "local-hostname: a.example\n", "instance-id: \"i-1\"\nlocal-hostname: a.example\n"},
		{"JSON is YAML", `{"a": 1}`, "{instance-id: \"i-1\", local-hostname: \"node-1\", \"a\": 1}\n"},
		{"a comment alone is nothing", "# none\n", "instance-id: \"i-1\"\nlocal-hostname: \"node-1\"\n"},
	}
	for _, tt := range tests {
		s := cloudinit.Seed{InstanceID: "i-1", Hostname: "node-1", MetaData: tt.extra}
		_, files := readBack(t, build(t, s).Data)
		if files["meta-data"] != tt.want {
			t.Errorf("%s: got %q, want %q", tt.behaviour, files["meta-data"], tt.want)
		}
	}
}

func TestBuild_refusesMetaDataThatIsNoMapping(t *testing.T) {
	_, err := cloudinit.Build(cloudinit.Seed{InstanceID: "i", MetaData: "# list\n- a\n"})
	var p *cloudinit.Problem
	if !errors.As(err, &p) || p.Line != 2 {
		t.Errorf("got %v, want a problem on line 2", err)
	}
}
