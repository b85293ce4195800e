// Package engine picks the database engine from a store's location and finds
// the default location.
package engine
