// Package presence names a process so that another one can later tell whether
// it is still at work. An owner mark carries the name of who made it.
package presence
