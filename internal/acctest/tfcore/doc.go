// Package tfcore does for one object of one resource type what Terraform Core
// does: it plans and applies over the provider protocol, keeps state and
// private state, marks what failed in the middle as tainted. It costs a
// thousandth of a terraform, so that a test may kill a provider at every
// call, or count what a plan of hundreds of objects allocates.
//
// It knows no expressions, no graph and no modules; a configuration is a tree
// of Go values. Tests run some of their cases with package tfcli as well, which
// is how the two are kept alike.
package tfcore
