// Package sqlite opens the store in a file: the default, for one machine. It
// knows where the file may lie, with which rights, and how SQLite has to be set
// up for many processes at once.
package sqlite
