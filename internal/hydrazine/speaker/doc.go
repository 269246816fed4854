// Package speaker announces public IPs by BGP: each with the fabric IP of its host as the next hop, so that packets are
// routed to the host's DPU and never through here.
//
// GoBGP runs inside this process; FRR, a routing suite of several daemons, is what the tests use as a neighbor. GoBGP sends
// another router's next hop unchanged, where FRR puts its own address unless each neighbor is configured otherwise; it is one
// process with one configuration, which is the BGPConfiguration; and a route is a call whose failure is seen.
//
// Every replica acts on its own; there is no leader. What a speaker may announce is decided by PublicIPs alone:
//   - It adds its name to status.announcedBy before it announces an address, and only if the object that this was written to
//     still asked for that next hop.
//   - It removes its name after it has withdrawn the address, and when no neighbor can have its route any more.
//   - It renews a Lease, which says how long its neighbors keep its routes, and withdraws everything before others may count
//     it as silent: see package lease.
//
// A speaker that was restarted opens its sessions after it has read all PublicIPs. Until then the neighbors keep its
// predecessor's routes (graceful restart, RFC 4724).
package speaker
