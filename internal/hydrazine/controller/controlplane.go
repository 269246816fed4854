package controller

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/hydrazine/ownip"
)

// Services of config/hydrazine and config/hydrazine-proxy.
const webhooksService, proxyService = "bedplate-hydrazine-webhooks", "bedplate-hydrazine-proxy"

// controlPlane knows the addresses of the programs that make networks. No host reaches them.
type controlPlane struct {
	client.Reader               // groups, which are cached
	live          client.Reader // BGPConfigurations and Services, which aren't
	// namespace of the Services that lead to the manager and the proxy; none where there are no such Services.
	namespace string
	// own are the addresses of this process, if they can be known.
	own func() ([]netip.Addr, error)
	now func() time.Time

	mutex  sync.Mutex
	known  controlPlaneAddresses
	looked time.Time
}

type controlPlaneAddresses struct {
	// addresses that no host may reach: the manager's, the proxy's, the centrals', the BGP speakers'. Sorted.
	all []netip.Addr
	// routers that the speakers announce public addresses to. Hosts may reach them, but not their BGP. Sorted.
	routers []netip.Addr
}

// addresses as known at most underlayAge ago, or the last known ones if they can't be read: no host's lease may end because of that.
// They must not be changed.
func (p *controlPlane) addresses(ctx context.Context) (controlPlaneAddresses, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if now := p.now(); p.looked.IsZero() || now.Sub(p.looked) >= underlayAge {
		known, err := p.look(ctx)
		switch {
		case err == nil:
			p.known, p.looked = known, now
		case p.looked.IsZero():
			return controlPlaneAddresses{}, err
		default:
			p.looked = now // it is slow, and all hosts wait for it
			ctrl.LoggerFrom(ctx).Error(err, "The addresses of the control plane are those that were known last")
		}
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
	services, err := p.services(ctx)
	if err != nil {
		return found, err
	}
	found.all = append(found.all, services...)
	found.all, found.routers = ownip.Callable(found.all), ownip.Callable(found.routers)
	return found, nil
}

// services are the addresses of the Services that lead to the webhooks and the proxy, and of the Pods behind them, as far as the manager
// may read them: it may be installed in another way.
func (p *controlPlane) services(ctx context.Context) (all []netip.Addr, err error) {
	if p.namespace == "" {
		return nil, nil
	}
	for _, name := range []string{webhooksService, proxyService} {
		service, pods := &corev1.Service{}, &discoveryv1.EndpointSliceList{}
		err := errors.Join(
			readable(ctx, p.live.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, service)),
			readable(ctx, p.live.List(ctx, pods, client.InNamespace(p.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: name})),
		)
		if err != nil {
			return nil, fmt.Errorf("look where Service %s leads: %w", name, err)
		}
		at := slices.Concat(service.Spec.ClusterIPs, service.Spec.ExternalIPs)
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			at = append(at, ingress.IP)
		}
		for _, slice := range pods.Items {
			for _, endpoint := range slice.Endpoints {
				at = append(at, endpoint.Addresses...)
			}
		}
		for _, ip := range at {
			if a, err := netip.ParseAddr(ip); err == nil {
				all = append(all, a)
			}
		}
	}
	return all, nil
}

// readable is the error of a read, unless there is no such object, or no right to it.
func readable(ctx context.Context, err error) error {
	if apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).Info("Tenants' hosts aren't kept from a Service that the manager may not read", "error", err.Error())
		return nil
	}
	return client.IgnoreNotFound(err)
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
