// Package storetest is the one suite that every engine of the store has to
// pass, and the PostgreSQL server that the tests start for themselves: Debian's
// packages, an unprivileged user, a folder of its own, no TCP port.
package storetest
