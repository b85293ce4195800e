// Package tfcli runs the installed terraform with the real, built provider
// binary, and measures both: CPU time, memory, what a state holds. Tests whose
// subject is a process (killed, interrupted, its cost) use it; those whose
// subject is a plan use the in-process provider of package acctest.
package tfcli
