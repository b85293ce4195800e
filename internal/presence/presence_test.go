package presence_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/presence"
)

func TestOf(t *testing.T) {
	here := strings.Split(presence.Here(), "/")
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	alive := true
	end := func() {
		if alive {
			_ = child.Process.Kill()
			_ = child.Wait()
			alive = false
		}
	}
	defer end()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(child.Process.Pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	text := string(stat)
	start := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])[19]
	running := here[0] + "/" + strconv.Itoa(child.Process.Pid) + "/" + start
	for name, want := range map[string]presence.Presence{
		presence.Here():                          presence.Ended,
		running:                                  presence.AtWork,
		strings.TrimSuffix(running, start) + "1": presence.Ended, // its number, and another process
		"other-" + running:                       presence.Elsewhere,
		here[0] + "/1":                           presence.Elsewhere,
		here[0] + "/x/1":                         presence.Elsewhere,
		"":                                       presence.Elsewhere,
	} {
		if got := presence.Of(name); got != want {
			t.Errorf("Of(%q) = %d, want %d", name, got, want)
		}
	}
	end()
	if got := presence.Of(running); got != presence.Ended {
		t.Errorf("a killed process is %d", got)
	}
}
