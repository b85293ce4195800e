package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseDirectives_readsLinesAmongOthers(t *testing.T) {
	set, problems := parseDirectives(`#cloud-config
packages: [unit]
# unit app.service activating 2s active 5s failed
unit other.service active
#link eth0 configuring
job late.service start waiting 3s
ignore-acpi
agent-after 1s
print  hello   guest
flood 3
`)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	app := set.units["app.service"]
	for at, want := range map[time.Duration]string{0: "activating", 1999 * time.Millisecond: "activating", 2 * time.Second: "active", time.Minute: "failed"} {
		if got := app.at(at); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	if !set.ignoreACPI || set.agentAfter != time.Second || set.flood != 3 || !slices.Equal(set.print, []string{"hello guest"}) ||
		set.links["eth0"].at(0) != "configuring" || set.jobs[0] != (job{"late.service", "start", "waiting", 3 * time.Second}) {
		t.Errorf("%+v", set)
	}
}

func TestParseDirectives_saysWhatMakesNoSense(t *testing.T) {
	for _, line := range []string{"unit app", "unit app active 1s", "unit app active soon failed", "job", "flood many", "crash-after noon"} {
		if _, problems := parseDirectives(line); len(problems) != 1 || !strings.HasPrefix(problems[0], line) {
			t.Errorf("%s: %v", line, problems)
		}
	}
}

func FuzzParseDirectives(f *testing.F) {
	f.Add("unit a active 1s failed\njob x\n")
	f.Fuzz(func(_ *testing.T, text string) { parseDirectives(text) })
}

// at returns a system as it is some time after the boot began.
func at(userData string, elapsed time.Duration) *system {
	set, _ := parseDirectives(userData)
	begun := time.Unix(0, 0)
	s := newSystem(set, begun)
	s.now = func() time.Time { return begun.Add(elapsed) }
	s.linkAppeared(2, "eth0", true)
	return s
}

func TestSystem_waitsForItsLinks(t *testing.T) {
	s := at("", time.Second)
	if a := s.systemctl([]string{"is-system-running"}); a.out != "starting\n" || a.code != 1 {
		t.Errorf("%+v", a)
	}
	if a := s.systemctl([]string{"list-jobs", "--no-legend"}); !strings.Contains(a.out, waitOnline+" start running\n") || !strings.Contains(a.out, networkOnline+" start waiting\n") {
		t.Errorf("%+v", a)
	}
	s.linkConfigured(2)
	s.booted()
	if a := s.systemctl([]string{"is-system-running"}); a.out != "running\n" || a.code != 0 {
		t.Errorf("%+v", a)
	}
	if a := s.systemctl([]string{"list-jobs"}); a.out != "No jobs running.\n" {
		t.Errorf("%+v", a)
	}
	if a := s.networkctl([]string{"list", "--no-legend"}); a.out != "  1 lo loopback carrier unmanaged\n  2 eth0 ether routable configured\n" {
		t.Errorf("%+v", a)
	}
}

func TestSystem_isActive(t *testing.T) {
	s := at("unit a activating 1s active\nunit b failed", 2*time.Second)
	cases := []struct {
		units []string
		out   string
		code  int
	}{
		{[]string{"a"}, "active\n", 0}, {[]string{"b"}, "failed\n", 3}, {[]string{"c"}, "inactive\n", 4}, {[]string{"b", "a", "c"}, "failed\nactive\ninactive\n", 0},
	}
	for _, c := range cases {
		if a := s.systemctl(append([]string{"is-active"}, c.units...)); a.out != c.out || a.code != c.code {
			t.Errorf("%v: %+v", c.units, a)
		}
	}
}

func TestSystem_show(t *testing.T) {
	s := at("unit a activating", 0)
	if a := s.systemctl([]string{"show", "-p", "ActiveState,SubState", "a"}); a.out != "ActiveState=activating\nSubState=start\n" {
		t.Errorf("%+v", a)
	}
	if a := s.systemctl([]string{"show", "--property=LoadState", "--value", "none"}); a.out != "not-found\n" {
		t.Errorf("%+v", a)
	}
}

func TestSystem_jobsAsJSON(t *testing.T) {
	s := at("job only.service start waiting 5s", time.Second)
	s.linkConfigured(2)
	s.booted()
	var jobs []struct {
		Unit, Type, State string
		Job               int
	}
	if err := json.Unmarshal([]byte(s.systemctl([]string{"list-jobs", "--output=json"}).out), &jobs); err != nil || len(jobs) != 1 || jobs[0].Unit != "only.service" {
		t.Errorf("%v, %+v", err, jobs)
	}
	s.now = func() time.Time { return s.begun.Add(5 * time.Second) }
	if a := s.systemctl([]string{"list-jobs", "-o", "json"}); a.out != "[]\n" {
		t.Errorf("%+v", a)
	}
}

func TestParseNetworkConfig_matches(t *testing.T) {
	const body = `version: 2
ethernets:
  one: {match: {macaddress: "52:54:00:AA:BB:01"}, addresses: [10.0.0.2/24], gateway4: 10.0.0.1}
  eth5: {dhcp4: true}
`
	indented := "network:\n  " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n  ")
	for _, text := range []string{body, indented} {
		c, err := parseNetworkConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		one, ok := c.find("eth0", "52:54:00:aa:bb:01")
		if !ok || one.Addresses[0] != "10.0.0.2/24" || one.routes()[0] != (route{"0.0.0.0/0", "10.0.0.1"}) {
			t.Errorf("%+v", one)
		}
		if five, ok := c.find("eth5", "52:54:00:aa:bb:05"); !ok || !five.DHCP4 {
			t.Errorf("%+v", five)
		}
		if _, ok := c.find("eth1", "52:54:00:aa:bb:09"); ok {
			t.Error("a link that nothing names is configured")
		}
	}
}

func TestParseNetworkConfig_refuses(t *testing.T) {
	for _, text := range []string{
		"version: 1", "version: 2\nethernets: {a: {addresses: [10.0.0.1]}}", "version: 2\nethernets: {a: {routes: [{to: default, via: x}]}}", "\tno yaml",
	} {
		if _, err := parseNetworkConfig([]byte(text)); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
}

func FuzzParseNetworkConfig(f *testing.F) {
	f.Add([]byte("version: 2\nethernets: {a: {dhcp4: true}}"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseNetworkConfig(b) })
}

func TestAgent_answers(t *testing.T) {
	a := &agent{system: at("unit app active", 0)}
	cases := map[string]string{
		`{"execute":"guest-sync","arguments":{"id":7}}`:                      `{"return":7}`,
		`{"execute":"guest-ping","id":"x"}`:                                  `{"id":"x","return":{}}`,
		`{"execute":"guest-sync-delimited","arguments":{"id":8}}`:            "\xff" + `{"return":8}`,
		`{"execute":"guest-nonsense"}`:                                       `{"error":{"class":"CommandNotFound","desc":"The command guest-nonsense has not been found"}}`,
		`{"execute":"guest-exec-status","arguments":{"pid":1}}`:              `{"error":{"class":"GenericError","desc":"PID 1 does not exist"}}`,
		`{"execute":"guest-exec","arguments":{"path":"systemctl","arg":[]}}`: `{"return":{"pid":1001}}`,
	}
	for q, want := range cases {
		if got := strings.TrimSuffix(string(a.answer([]byte(q+"\n"))), "\n"); got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
	if got := a.answer([]byte("no request\n")); got != nil {
		t.Errorf("answered %s", got)
	}
}

func FuzzAgent(f *testing.F) {
	f.Add([]byte(`{"execute":"guest-exec","arguments":{"path":"true"}}`))
	a := &agent{system: at("", 0)}
	f.Fuzz(func(_ *testing.T, line []byte) {
		if !strings.Contains(string(line), "shutdown") {
			a.answer(line)
		}
	})
}
