package presence

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Presence is what can be told of a named process.
type Presence uint8

// The answers.
const (
	Elsewhere Presence = iota // on another machine, or not to be told here
	AtWork                    // another process of this machine, alive
	Ended                     // of this machine, and gone; or this very process
)

// Here names this process: "host/pid/start". Start tells it from a later
// process with the same number; it is empty where the system does not say.
func Here() string {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	start, _ := processStart(os.Getpid())
	return fmt.Sprintf("%s/%d/%s", name, os.Getpid(), start)
}

// Of tells whether the process that was named by Here is at work. This process
// itself has ended in that sense: it asks because it is not at the work that
// the name stands for.
func Of(name string) Presence {
	parts := strings.Split(name, "/")
	here, err := os.Hostname()
	if len(parts) != 3 || err != nil || parts[0] != here || parts[2] == "" {
		return Elsewhere
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil {
		return Elsewhere
	}
	if start, ok := processStart(pid); ok && start == parts[2] && pid != os.Getpid() {
		return AtWork
	}
	return Ended
}
