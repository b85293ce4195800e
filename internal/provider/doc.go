// Package provider is the Terraform shell: the provider's own configuration
// and the registration of its resources, data sources and functions. What they
// do is decided elsewhere.
package provider
