// Package ledgers reads, writes and keeps ledgers: the engine's record of what was created for an owner. It knows neither kinds nor
// services. It guarantees: an intention is written on the newest ledger only, of an owner that is neither deleted, replaced, paused nor changed,
// and that `clusterctl move` doesn't move meanwhile; the finalizer of an owner is removed after the last entry.
package ledgers
