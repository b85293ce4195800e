// Package cli picks what the process is from its arguments: the plugin server,
// which is the default, or a command for people. It decides nothing about the
// objects that the provider manages.
package cli
