// Package functions holds the provider-defined functions: pure computations
// that a configuration may use without a resource.
package functions
