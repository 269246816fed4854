// Package graph is the engine under Bedplate's systems. Everything a system makes outside Kubernetes (a VPC, a subnet, an
// instance, …) is a node of a graph that belongs to one Kubernetes object, its owner. The system says what a Kind is and
// what the spec wants; the engine alone decides when to read, adopt, create, wait and delete.
//
// What it guarantees, whatever crashes in between:
//
//   - Ledger. What was created is recorded in an object beside the owner, which no user manifest touches and `clusterctl move`
//     takes along. Status fields are a projection of it. A ledger of another object or management cluster is refused.
//   - Find first, then intend, then create. What carries our tag is adopted. If nothing is found, the intention is
//     written under optimistic lock, then the resource is created, then its ID is written. So "pending" means: seen
//     absent, then attempted by us.
//   - Settle. After a create whose outcome is unknown, "none found" counts only once the service has had time to
//     finish the request.
//   - Unknown is not absent. Only a proven "not found" means gone. Any other error stops that node and those after it;
//     nothing is cleared, nothing falls through to create.
//   - Independent branches continue while others wait or fail, and no reconcile blocks on a create.
//   - Drift of our own resources is repaired; the user's own are never touched.
//   - Delete in reverse, from the ledger alone: a node is deleted when everything after it is confirmed gone, only what
//     ledger and tag prove ours is deleted, and gone means that the service says so. Deletion never waits for readiness.
//   - Plan reports what would be done, by the same decision, and changes nothing.
//   - One writer. The engine writes the conditions and one event per transition.
//
// docs/engine.md has the rules in full, and a worked example.
package graph
