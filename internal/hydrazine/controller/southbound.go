package controller

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
)

// certificateLife is the lifetime of a DPU's certificate for its group's southbound database. It is renewed when half of it is
// left, with the lease, so it is long enough for the longest lease to end first.
const certificateLife = 30 * 24 * time.Hour

// secure puts into an assignment what the DPU needs to reach the southbound database if that uses TLS. It returns false if
// the host can't be assigned, and says why.
func (r *resourceReconciler) secure(resource *resourcev1.ManagedResource, report agents.Report, wanted *agentv1.Assignment) bool {
	if !strings.HasPrefix(wanted.Southbound, "ssl:") {
		return true
	}
	request, has := []byte(report.GetSouthboundRequest()), held(report.GetPorts(), wanted.GroupUid)
	if len(request) == 0 {
		return r.older(resource, report, wanted)
	}
	authority := r.networks.authority(types.UID(wanted.GroupUid))
	if authority == nil && has == nil { // its central isn't there yet, or hangs: a host continues with what it has
		if keep(resource, report, wanted) { // without TLS, as before the manager asked for it
			return true
		}
		unmet(resource, resourcev1.AttachedCondition, reasonNoCentral, "the OVN central can't be reached now")
		return false
	}
	wanted.SouthboundTls = has
	if authority == nil {
		return true
	}
	if has.GetAuthorities() == string(authority.PEM()) && authority.Good([]byte(has.GetCertificate()), request, report.GetChassis()) {
		return true
	}
	certificate, err := authority.Sign(request, report.GetChassis(), certificateLife)
	if err != nil {
		unmet(resource, resourcev1.AgentReadyCondition, reasonInvalidReport, fmt.Sprintf("DPU %s: %s", report.GetChassis(), err))
		return false
	}
	wanted.SouthboundTls = &agentv1.SouthboundTLS{Certificate: string(certificate), Authorities: string(authority.PEM())}
	return true
}

// held is a DPU's certificate for a group. All its ports share it.
func held(ports []*agentv1.Port, group string) *agentv1.SouthboundTLS {
	for _, port := range ports {
		if tls := port.GetAssignment().GetSouthboundTls(); tls != nil && port.GetAssignment().GetGroupUid() == group {
			return tls
		}
	}
	return nil
}

// older is for an agent without TLS. Its attached hosts stay attached, and get no changes; no further host is attached.
func (r *resourceReconciler) older(resource *resourcev1.ManagedResource, report agents.Report, wanted *agentv1.Assignment) bool {
	unmet(resource, resourcev1.AgentReadyCondition, reasonOlder, fmt.Sprintf("the agent of DPU %s, version %.64q, asks for no certificate: "+
		"upgrade it, or start the manager with --southbound-plaintext until it is", report.GetChassis(), report.GetVersion()))
	return keep(resource, report, wanted)
}

// keep what a host has been assigned, if it is of the group.
func keep(resource *resourcev1.ManagedResource, report agents.Report, wanted *agentv1.Assignment) bool {
	if port := portOf(resource, report.GetPorts()); port.GetAssignment().GetGroupUid() == wanted.GroupUid {
		proto.Reset(wanted)
		proto.Merge(wanted, port.GetAssignment())
		return true
	}
	return false
}
