package describe

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/describe"
)

// PublicIP reads a public address with the host that has it, and how the BGP speakers get on with their neighbors. It is in no
// namespace.
func PublicIP(ctx context.Context, c client.Client, _, name string) (*describe.Object, error) {
	ip := &networkfabricv1.PublicIP{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, ip); err != nil {
		return nil, fmt.Errorf("read PublicIP %s: %w", name, err)
	}
	root := publicIP(ip)
	if of := ip.Status.ManagedResource; of != nil {
		root.Details = append(root.Details, describe.Detail{Name: "host", Text: of.Namespace + "/" + of.Name})
	}
	list := &networkfabricv1.BGPConfigurationList{}
	if err := c.List(ctx, list); err != nil && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("read the BGPConfigurations: %w", err)
	}
	for i := range list.Items {
		for _, speaker := range list.Items[i].Status.Speakers {
			root.Children = append(root.Children, bgpSpeaker(speaker))
		}
	}
	return root, nil
}

func publicIP(ip *networkfabricv1.PublicIP) *describe.Object {
	o := object("PublicIP", ip)
	o.Details = append(o.Details, describe.Detail{Name: "address", Text: string(ip.Spec.IPAddress)})
	if ip.Status.NextHop != "" {
		o.Details = append(o.Details, describe.Detail{Name: "next hop", Text: string(ip.Status.NextHop)})
	}
	if by := ip.Status.AnnouncedBy; len(by) > 0 {
		o.Details = append(o.Details, describe.Detail{Name: "announced by", Text: strings.Join(by, ", ")})
	}
	return o
}

// bgpSpeaker is a heading, with the speaker's sessions below it.
func bgpSpeaker(s networkfabricv1.BGPSpeaker) *describe.Object {
	o := &describe.Object{Kind: "Speaker", Name: s.Name}
	for _, session := range s.Sessions {
		text := fmt.Sprintf("with %s: %s", session.Neighbor, session.State)
		if session.Message != "" {
			text += ", " + session.Message
		}
		o.Details = append(o.Details, describe.Detail{Name: "session", Text: text, Time: session.Since})
	}
	return o
}
