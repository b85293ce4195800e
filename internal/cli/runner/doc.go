// Package runner is the command `run`: it starts a child, hands it a socket for
// progress, and shows between the child's own lines what the operations are at.
// It changes nothing of what the child says, hears or returns.
package runner
