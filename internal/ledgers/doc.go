// Package ledgers reads, writes and keeps ledgers: the memory that the engine has of what was made for an owner. It knows neither kinds
// nor services. What it guarantees: an intention is written on the newest ledger only, of an owner that is neither deleted,
// replaced nor paused, and that `clusterctl move` leaves where it is; the finalizer of an owner goes after the last entry.
package ledgers
