// Package providerdata is what the configured provider hands to every resource
// and data source: the identity rules, the hosts (opened when they are first
// needed, one per canonical URI), and the registries that make one warning of
// many and find two owners of one name or address.
package providerdata
