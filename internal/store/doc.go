// Package store keeps what has to outlive a process: operations, which are the
// receipts of what ran, and the evidence gathered on the way. One SQL text
// serves both engines, SQLite and PostgreSQL; store/sqlite and store/postgres
// open them and say the few things in which they differ. It records what it is
// given and judges nothing: whether an operation moves, is silent or was cut
// short is decided in internal/progress.
package store
