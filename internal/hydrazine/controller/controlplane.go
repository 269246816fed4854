package controller

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/hydrazine/ownip"
)

// controlPlane knows where those programs are that make networks: nobody on such a network has any business with them.
type controlPlane struct {
	client.Reader               // groups, which are cached
	live          client.Reader // BGPConfigurations, which aren't
	// own are the addresses of this process, if somebody can say them.
	own func() ([]netip.Addr, error)
	now func() time.Time

	mutex  sync.Mutex
	known  controlPlaneAddresses
	looked time.Time
}

type controlPlaneAddresses struct {
	// all that no host reaches: the manager's, the centrals', the BGP speakers'. Sorted.
	all []netip.Addr
	// routers that the speakers tell of public addresses. Hosts may reach them, but not their BGP. Sorted.
	routers []netip.Addr
}

// addresses that were known at most underlayAge ago. They must not be changed.
func (p *controlPlane) addresses(ctx context.Context) (controlPlaneAddresses, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if now := p.now(); p.looked.IsZero() || now.Sub(p.looked) >= underlayAge {
		known, err := p.look(ctx)
		if err != nil {
			return controlPlaneAddresses{}, err
		}
		p.known, p.looked = known, now
	}
	return p.known, nil
}

func (p *controlPlane) look(ctx context.Context) (found controlPlaneAddresses, err error) {
	if p.own != nil {
		if found.all, err = p.own(); err != nil {
			return found, err
		}
	}
	groups := &resourcev1.ResourceGroupList{}
	if err := p.List(ctx, groups, client.UnsafeDisableDeepCopy); err != nil {
		return found, fmt.Errorf("list ResourceGroups: %w", err)
	}
	for i := range groups.Items {
		if a := southbound(&groups.Items[i]); a.IsValid() {
			found.all = append(found.all, a)
		}
	}
	configurations := &networkfabricv1.BGPConfigurationList{}
	if err := p.live.List(ctx, configurations); err != nil {
		return found, fmt.Errorf("list BGPConfigurations: %w", err)
	}
	for _, c := range configurations.Items {
		for _, neighbor := range c.Spec.Neighbors {
			found.routers = append(found.routers, overlay.Address(neighbor.Address))
		}
		for _, speaker := range c.Status.Speakers {
			for _, ip := range speaker.Addresses {
				found.all = append(found.all, overlay.Address(ip))
			}
		}
	}
	found.all, found.routers = ownip.Callable(found.all), ownip.Callable(found.routers)
	return found, nil
}

// southbound is the address of a group's southbound database, which was written as ssl:172.18.0.2:16640.
func southbound(group *resourcev1.ResourceGroup) netip.Addr {
	if group.Status.SoftwareNetworkConfiguration == nil {
		return netip.Addr{}
	}
	_, at, _ := strings.Cut(group.Status.SoftwareNetworkConfiguration.Southbound, ":")
	address, _ := netip.ParseAddrPort(at)
	return address.Addr()
}
