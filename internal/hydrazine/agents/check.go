package agents

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// ErrInvalidReport means that an agent's report can't be true. It isn't used.
var ErrInvalidReport = errors.New("the agent's report is invalid")

// ErrNewer means that an agent's protocol is newer than the controller.
var ErrNewer = errors.New("the agent is newer than the manager")

// word matches what may become part of OVN's databases and of a status.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,62}$`)

// maxRequest is far more bytes than a certificate request with an accepted key has.
const maxRequest = 4 << 10

// maxList is how many addresses or ports a DPU may have. Each is compared with all that the manager knows of the site, for each report.
const maxList = 1024

// check whether a report is valid.
func check(r *agentv1.Report) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalidReport, fmt.Sprintf(format, args...))
	}
	if r.GetLevel() == 0 {
		return invalid("it has no protocol level")
	}
	if r.GetLevel() > agentv1.Level {
		return fmt.Errorf("%w: its protocol level is %d and its version %.64q, the manager's protocol level is %d", ErrNewer, r.GetLevel(),
			r.GetVersion(), agentv1.Level)
	}
	if !word.MatchString(r.GetChassis()) {
		return invalid("the chassis name %.64q is invalid", r.GetChassis())
	}
	u := r.GetUplink()
	if n := len(u.GetAddresses()) + len(u.GetOtherAddresses()) + len(u.GetGateways()) + len(u.GetNextHops()); n > maxList {
		return invalid("it has %d addresses and gateways", n)
	}
	if n := len(r.GetPorts()); n > maxList {
		return invalid("it has %d ports", n)
	}
	for _, address := range u.GetAddresses() {
		if _, err := netip.ParsePrefix(address); err != nil {
			return invalid("the uplink address %.64q is invalid", address)
		}
	}
	for _, address := range u.GetOtherAddresses() {
		if a, err := netip.ParseAddr(address); err != nil || a.Zone() != "" {
			return invalid("the address %.64q is invalid", address)
		}
	}
	for _, gateway := range slices.Concat(u.GetGateways(), u.GetNextHops()) {
		if _, err := netip.ParseAddr(gateway); err != nil {
			return invalid("the uplink gateway %.64q is invalid", gateway)
		}
	}
	if n := len(r.GetSouthboundRequest()); n > maxRequest {
		return invalid("its request for a certificate has %d bytes", n)
	}
	seen := map[string]bool{}
	for _, port := range r.GetPorts() {
		if !word.MatchString(port.GetName()) || seen[port.GetName()] {
			return invalid("the port name %.64q is invalid or occurs twice", port.GetName())
		}
		seen[port.GetName()] = true
	}
	return nil
}
