// Package postgres opens the store in a PostgreSQL database: for teams, and for
// several reconcilers. The database is made by whoever owns it; the tables are
// made here, in the first schema of the search path.
package postgres
