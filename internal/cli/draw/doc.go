// Package draw writes operations for people: a line a change for a log, bars
// for a terminal, tables for what is over. It is a function of records and the
// time, and knows no terminal.
package draw
