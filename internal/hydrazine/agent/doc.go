// Package agent runs on a DPU. It attaches the ports of the hosts behind it to the networks of tenants, and isolates
// them.
//
// Everything is decided from three things: the ledger (which host has which port, and until when), what Open vSwitch
// has, and what the kernel has. They are compared again after every change and every failure, so it makes no difference
// where the agent was interrupted. A port that the ledger doesn't assign to any host is isolated, in this order: the
// interface is taken down, which needs no other program; the port leaves the integration bridge; and after the last one
// ovn-controller is stopped, the bridge deleted, and the tracked connections forgotten. OVN alone would keep forwarding
// when it is cut off.
package agent
