// Package archtest holds the house to its plan: imports point downwards, the
// ground floor stays free of I/O, clock, chance and goroutines, and each
// foreign library has one room. It reads source text alone, so that it needs
// no build and also sees files for other systems. Whoever breaks a rule is told
// why it stands.
package archtest
