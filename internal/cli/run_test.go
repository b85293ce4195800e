package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestRun_tellsPeople(t *testing.T) {
	t.Setenv(pluginCookie, "")
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"-version"}, exitOK, "terraform-provider-muster 1.2.3 (go", ""},
		{[]string{"--help"}, exitOK, "Usage:", ""},
		{nil, exitUsage, "", "which start it"},
		{[]string{"-frobnicate"}, exitUsage, "", `unknown argument "-frobnicate"`},
		{[]string{"-debug", "more"}, exitUsage, "", `unknown argument "more"`},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), c.args, "1.2.3", &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: %d\n%s%s", c.args, code, stdout.String(), stderr.String())
		}
	}
}

func TestTune_silencesUnlessAsked(t *testing.T) {
	for _, name := range append([]string{"TF_LOG", "TF_LOG_PATH"}, sdkLogs...) {
		t.Setenv(name, "")
	}
	tune()
	for _, name := range sdkLogs {
		if os.Getenv(name) != "OFF" {
			t.Errorf("%s is %q", name, os.Getenv(name))
		}
	}
	for environ, asked := range map[string]bool{"TF_LOG=": false, "TF_LOG_PATH=/x": false, "TF_LOG=DEBUG": true, "TF_LOG_PROVIDER=TRACE": true, "HOME=/": false} {
		if got := logsAsked([]string{environ}); got != asked {
			t.Errorf("%s: %v", environ, got)
		}
	}
}
