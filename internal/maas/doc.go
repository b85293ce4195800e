// Package maas adapts the REST API of a MAAS region. It signs each attempt
// anew, bounds each call, sorts errors into the kinds of internal/fault, and
// never re-sends a write whose outcome is open. It decides nothing about
// machines: it must not know what they are commissioned for, nor Terraform.
package maas
