package maas

import "fmt"

// Status is a node's status as MAAS numbers it (maascommon/node.py). The
// labels of the API are irregular, so compare numbers.
type Status int

// The statuses.
const (
	StatusNew Status = iota
	StatusCommissioning
	StatusFailedCommissioning
	StatusMissing
	StatusReady
	StatusReserved
	StatusDeployed
	StatusRetired
	StatusBroken
	StatusDeploying
	StatusAllocated
	StatusFailedDeployment
	StatusReleasing
	StatusFailedReleasing
	StatusDiskErasing
	StatusFailedDiskErasing
	StatusRescueMode
	StatusEnteringRescueMode
	StatusFailedEnteringRescueMode
	StatusExitingRescueMode
	StatusFailedExitingRescueMode
	StatusTesting
	StatusFailedTesting
)

var statusNames = [...]string{
	"New", "Commissioning", "Failed commissioning", "Missing", "Ready", "Reserved", "Deployed", "Retired",
	"Broken", "Deploying", "Allocated", "Failed deployment", "Releasing", "Releasing failed", "Disk erasing",
	"Failed disk erasing", "Rescue mode", "Entering rescue mode", "Failed to enter rescue mode",
	"Exiting rescue mode", "Failed to exit rescue mode", "Testing", "Failed testing",
}

// String returns the label that MAAS shows.
func (s Status) String() string {
	if s >= 0 && int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", int(s))
}

// Failed reports whether the status is the end of something that went wrong.
func (s Status) Failed() bool {
	switch s {
	case StatusFailedCommissioning, StatusFailedDeployment, StatusFailedReleasing, StatusFailedDiskErasing,
		StatusFailedEnteringRescueMode, StatusFailedExitingRescueMode, StatusFailedTesting:
		return true
	default:
		return false
	}
}

// Transient reports whether MAAS itself moves the node out of the status.
func (s Status) Transient() bool {
	switch s {
	case StatusCommissioning, StatusTesting, StatusDeploying, StatusReleasing, StatusDiskErasing, StatusEnteringRescueMode, StatusExitingRescueMode:
		return true
	default:
		return false
	}
}

// Commissionable reports whether MAAS accepts a commission in the status.
func (s Status) Commissionable() bool {
	return s == StatusNew || s == StatusFailedCommissioning || s == StatusReady || s == StatusBroken
}

// NICsEditable reports whether MAAS accepts a new MAC for a NIC in the status.
func (s Status) NICsEditable() bool {
	return s == StatusNew || s == StatusReady || s == StatusAllocated || s == StatusBroken || s == StatusDeployed || s == StatusFailedTesting
}

// ScriptStatus is the status of a script's result, or of a set of results.
type ScriptStatus int

// The statuses of results. A set with ScriptsNone is empty: MAAS leaves one when
// testing was switched off.
const (
	ScriptsNone                 ScriptStatus = -1
	ScriptPending               ScriptStatus = 0
	ScriptRunning               ScriptStatus = 1
	ScriptPassed                ScriptStatus = 2
	ScriptFailed                ScriptStatus = 3
	ScriptTimedOut              ScriptStatus = 4
	ScriptAborted               ScriptStatus = 5
	ScriptDegraded              ScriptStatus = 6
	ScriptInstalling            ScriptStatus = 7
	ScriptFailedInstalling      ScriptStatus = 8
	ScriptSkipped               ScriptStatus = 9
	ScriptApplyingNetwork       ScriptStatus = 10
	ScriptFailedApplyingNetwork ScriptStatus = 11
)

var scriptStatusNames = [...]string{
	"Pending", "Running", "Passed", "Failed", "Timed out", "Aborted", "Degraded", "Installing dependencies",
	"Failed installing dependencies", "Skipped", "Applying custom network configuration",
	"Failed to apply custom network configuration",
}

// String returns the label that MAAS shows, and "No scripts" for an empty set,
// which MAAS labels by accident.
func (s ScriptStatus) String() string {
	switch {
	case s == ScriptsNone:
		return "No scripts"
	case s >= 0 && int(s) < len(scriptStatusNames):
		return scriptStatusNames[s]
	}
	return fmt.Sprintf("script status(%d)", int(s))
}

// Done reports whether the script has ended.
func (s ScriptStatus) Done() bool {
	switch s {
	case ScriptPassed, ScriptFailed, ScriptTimedOut, ScriptAborted, ScriptDegraded, ScriptFailedInstalling, ScriptSkipped, ScriptFailedApplyingNetwork:
		return true
	default:
		return false
	}
}

// Bad reports whether the script has ended and not well.
func (s ScriptStatus) Bad() bool { return s.Done() && s != ScriptPassed && s != ScriptSkipped }
