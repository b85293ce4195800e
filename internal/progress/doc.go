// Package progress tells people what long work is doing while it does it, and
// leaves a receipt of it. A use case begins an operation with its limits, names
// its steps and says how far they got; sinks carry that to the store, a file,
// the log and the program `run`. Each change is written as it happens, so that
// a process that is killed leaves a record that says how far it got. It also
// judges whether something awaited is moving, silent or out of sight.
//
// The recorder travels in the context. Without one every call here is a no-op
// on a nil *Operation.
package progress
