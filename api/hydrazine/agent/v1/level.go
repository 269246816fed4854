// Package agentv1 is what Hydrazine's controller and the agents of the DPUs say to each other. It is generated from
// agent.proto.
package agentv1

// Level is what this source tree's controller drives and its agent understands. It goes up by one with every field or call
// that an older agent would pass over where the controller counts on it.
const Level = 4

// LevelDHCP is the first level whose agents relay DHCP.
const LevelDHCP = 2

// LevelHosts is the first level whose agents know by what addresses a host may ask for DHCP.
const LevelHosts = 4
