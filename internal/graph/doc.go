// Package graph is the engine under Bedplate's systems. Everything a system makes outside Kubernetes (a VPC, a subnet, an
// instance, …) is a node of a graph that belongs to one Kubernetes object, its owner. The system says what a Kind is and
// what the spec wants; the engine alone decides when to look, adopt, create, wait and delete.
//
// What it promises, whatever crashes or lies in between:
//
//   - Ledger. What was made is written into an object of its own beside the owner, which no manifest of the user's reaches and
//     `clusterctl move` takes along. Status fields are a projection of it. A ledger of another object or home is refused.
//   - Find first, then intend, then create. What carries our tag is adopted. Where nothing is found, the intention is
//     written under optimistic lock, then the object is created, then its ID is written. So "pending" means: seen absent,
//     then attempted by us.
//   - Settle. After a create whose outcome is unknown, "none found" counts only once the service has had the time to
//     finish the request.
//   - Unknown is not absent. Only a proven "not found" means gone. Any other error stops that node and those after it;
//     nothing is cleared, nothing falls through to create.
//   - Branches that don't depend on each other go on while others wait or fail, and no reconcile is held up by a create.
//   - Drift of what is ours is repaired; what is the user's own is never touched.
//   - Delete in reverse, from the ledger alone: a node goes when everything after it is confirmed gone, only what ledger
//     and tag prove ours is deleted, and gone means that the service says so. It never waits for readiness.
//   - Plan says what would be done, by the same decision, and does nothing.
//   - One voice. The engine writes the conditions and one event per transition.
//
// docs/engine.md has the rules in full, and a worked example.
package graph
