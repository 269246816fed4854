package agents

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// ErrNonsense means that an agent's report can't be true. It isn't used.
var ErrNonsense = errors.New("the agent says what can't be true")

// ErrNewer means that an agent's protocol is newer than the controller.
var ErrNewer = errors.New("the agent is newer than the controller")

// word matches what may become part of OVN's databases and of a status.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,62}$`)

// maxRequest is far more bytes than a certificate request with an accepted key has.
const maxRequest = 4 << 10

// maxList is how many addresses or ports a DPU may have. Each is compared with all that the manager knows of the site, for each report.
const maxList = 1024

// check whether a report is valid.
func check(r *agentv1.Report) error {
	nonsense := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrNonsense, fmt.Sprintf(format, args...))
	}
	if r.GetLevel() == 0 {
		return nonsense("it doesn't say its level")
	}
	if r.GetLevel() > agentv1.Level {
		return fmt.Errorf("%w: its level is %d and its version %.64q, the controller's level is %d", ErrNewer, r.GetLevel(),
			r.GetVersion(), agentv1.Level)
	}
	if !word.MatchString(r.GetChassis()) {
		return nonsense("its chassis is called %.64q", r.GetChassis())
	}
	u := r.GetUplink()
	if n := len(u.GetAddresses()) + len(u.GetOtherAddresses()) + len(u.GetGateways()) + len(u.GetNextHops()); n > maxList {
		return nonsense("it has %d addresses and gateways", n)
	}
	if n := len(r.GetPorts()); n > maxList {
		return nonsense("it has %d ports", n)
	}
	for _, address := range u.GetAddresses() {
		if _, err := netip.ParsePrefix(address); err != nil {
			return nonsense("its uplink has the address %.64q", address)
		}
	}
	for _, address := range u.GetOtherAddresses() {
		if a, err := netip.ParseAddr(address); err != nil || a.Zone() != "" {
			return nonsense("it has the address %.64q", address)
		}
	}
	for _, gateway := range slices.Concat(u.GetGateways(), u.GetNextHops()) {
		if _, err := netip.ParseAddr(gateway); err != nil {
			return nonsense("its uplink has the gateway %.64q", gateway)
		}
	}
	if n := len(r.GetSouthboundRequest()); n > maxRequest {
		return nonsense("its request for a certificate has %d bytes", n)
	}
	seen := map[string]bool{}
	for _, port := range r.GetPorts() {
		if !word.MatchString(port.GetName()) || seen[port.GetName()] {
			return nonsense("it has a port called %.64q, or two", port.GetName())
		}
		seen[port.GetName()] = true
	}
	return nil
}
