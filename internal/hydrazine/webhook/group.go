package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// groupValidator refuses networks that make no sense, which can't be changed later, DHCP servers that the site doesn't allow, and security
// groups that are too large. It warns of rules that name no host.
type groupValidator struct{ client.Reader }

// maxSecurityGroups is how large the security groups of a ResourceGroup may be together, in bytes of JSON: each client that writes or
// watches it has all of them in memory.
const maxSecurityGroups = 64 << 10

func (v groupValidator) ValidateCreate(ctx context.Context, g *resourcev1.ResourceGroup) (admission.Warnings, error) {
	return v.check(ctx, &resourcev1.ResourceGroup{}, g)
}

// ValidateUpdate refuses nothing but growth and another DHCP server: an object with a problem can still be changed, and go.
func (v groupValidator) ValidateUpdate(ctx context.Context, before, after *resourcev1.ResourceGroup) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	return v.check(ctx, before, after)
}

// check a group. What is as it was before, in an empty one if it is new, is only warned of.
func (v groupValidator) check(ctx context.Context, before, g *resourcev1.ResourceGroup) (admission.Warnings, error) {
	refuse := func(kind field.ErrorType, name string, value any, detail string) error {
		return apierrors.NewInvalid(resourcev1.GroupVersion.WithKind("ResourceGroup").GroupKind(), g.Name, field.ErrorList{{
			Type: kind, Field: "spec." + name, BadValue: value, Detail: detail,
		}})
	}
	if err := few("ResourceGroup", g.Name, map[string]length{"securityGroups": {len(g.Spec.SecurityGroups), maxSecurityGroupsOfAGroup}}); err != nil {
		return nil, err
	}
	if size := sizeOf(g); size > maxSecurityGroups && size > sizeOf(before) {
		return nil, refuse(field.ErrorTypeTooLong, "securityGroups", "", fmt.Sprintf(
			"together they may have at most %d bytes, and have %d: merge rules or prefixes", maxSecurityGroups, size))
	}
	site, err := overlay.LookAtSite(ctx, v, nil) // DPUs' own addresses the controller knows
	if err != nil {
		return nil, err
	}
	network, err := overlay.Topology(g, nil, overlay.Outside{Site: site})
	if err != nil {
		refused := refuse(field.ErrorTypeInvalid, "network", g.Spec.Network, err.Error())
		if before.Spec.Network == nil {
			return nil, refused
		}
		return admission.Warnings{refused.Error()}, nil
	}
	if network.NotRelayed != "" && before.Spec.DHCPServer != g.Spec.DHCPServer {
		return nil, refuse(field.ErrorTypeInvalid, "dhcpServer", g.Spec.DHCPServer, network.NotRelayed)
	}
	return network.Warnings[string(g.UID)], nil
}

// sizeOf the security groups of a group, in bytes of JSON.
func sizeOf(g *resourcev1.ResourceGroup) int {
	data, _ := json.Marshal(g.Spec.SecurityGroups)
	return len(data)
}

func (groupValidator) ValidateDelete(context.Context, *resourcev1.ResourceGroup) (admission.Warnings, error) {
	return nil, nil
}
