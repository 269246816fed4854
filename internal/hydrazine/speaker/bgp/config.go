// Package bgp announces routes to the devices of the fabric, by GoBGP inside this process.
//
// It only dials out and doesn't listen. What neighbors announce is discarded, so that no neighbor gets another one's
// routes through this process. GoBGP keeps it in memory all the same, before any policy: so there is a limit for each
// neighbor.
//
// Graceful restart (RFC 4724) is used for more than restarts of the process: whenever a session is opened, the neighbor is
// told that forwarding continued meanwhile, which is true, since packets never come here. So it keeps what it knows of the
// last session until all routes have been sent again, however that session ended, unless by a NOTIFICATION.
package bgp

import (
	"cmp"
	"net/netip"
	"time"
)

// Config has the speaker's identity and its neighbors.
type Config struct {
	ASN      uint32
	RouterID netip.Addr // IPv4
	// RestartTime is how long neighbors keep routes after a session has been lost. Whole seconds, at most 4095.
	RestartTime time.Duration
	Neighbors   []Neighbor
}

// Neighbor is a router of the fabric.
type Neighbor struct {
	Address  netip.Addr
	ASN      uint32
	Port     uint16
	HoldTime time.Duration // whole seconds
	Hops     uint8         // how far away a neighbor of another autonomous system may be
	// TTLSecurity drops packets from further away than Hops.
	TTLSecurity bool
	// MaxPrefixes of each IP version that the neighbor may announce; 0 is defaultMaxPrefixes.
	MaxPrefixes uint32
	Password    string // of TCP's MD5 signatures; "" is none
	// Problem says why the wanted session isn't possible. An existing session continues as it is.
	Problem string
}

func (n Neighbor) maxPrefixes() uint32 { return cmp.Or(n.MaxPrefixes, defaultMaxPrefixes) }

// defaultMaxPrefixes is that of the API.
const defaultMaxPrefixes = 1000

// identity is the part of a configuration that all sessions share.
type identity struct {
	asn         uint32
	routerID    netip.Addr
	restartTime time.Duration
}

func (c Config) identity() identity { return identity{c.ASN, c.RouterID, c.RestartTime} }
