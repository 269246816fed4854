package dpuservice

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
)

// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuservicechains;dpuserviceipams,verbs=get;list;watch

// request for an address, as Multus passes it on to NV-IPAM. It is a part of a network in the annotation of pods.
type request struct {
	Args         arguments `json:"cni-args"`
	DefaultRoute []string  `json:"default-route,omitempty"`
}

type arguments struct {
	PoolNames []string `json:"poolNames"`
	PoolType  string   `json:"poolType"`
	Gateway   bool     `json:"allocateDefaultGateway,omitempty"`
}

// requests by DPU cluster and by DPUServiceInterface.
type requests map[types.NamespacedName]map[string]*request

// requests of a service's interfaces: what the chains of its namespace say. It returns besides what is wrong with them.
func (r *reconciler) requests(
	ctx context.Context, interfaces []svcv1.DPUServiceInterface, clusters []dpucluster.Cluster,
) (requests, []string, error) {
	if len(interfaces) == 0 {
		return nil, nil, nil
	}
	var chains svcv1.DPUServiceChainList
	var pools svcv1.DPUServiceIPAMList
	in := client.InNamespace(interfaces[0].Namespace)
	if err := errors.Join(r.List(ctx, &chains, in), r.List(ctx, &pools, in)); err != nil {
		return nil, nil, fmt.Errorf("read the chains and pools of the service: %w", err)
	}
	slices.SortFunc(chains.Items, func(a, b svcv1.DPUServiceChain) int { return strings.Compare(a.Name, b.Name) })
	all, problems := requests{}, []string(nil)
	for n := range chains.Items {
		c := &chains.Items[n]
		for i := range interfaces {
			if problem := all.add(&interfaces[i], c, pools.Items, clusters); problem != "" {
				problems = append(problems, "DPUServiceInterface "+interfaces[i].Name+": DPUServiceChain "+c.Name+": "+problem)
			}
		}
	}
	return all, problems, nil
}

// add what a chain says of an interface.
func (all requests) add(
	i *svcv1.DPUServiceInterface, c *svcv1.DPUServiceChain, pools []svcv1.DPUServiceIPAM, clusters []dpucluster.Cluster,
) string {
	for _, ipam := range ipamsOf(i, c) {
		want, pool, problem := requestFor(ipam, pools)
		if problem != "" {
			return problem
		}
		if i.Spec.Template.Spec.Template.Spec.Service.Network == "" {
			return "the interface is in no network that could give it an address: set its service.network"
		}
		chosen, err := selectorOf(c.Spec.ClusterSelector)
		has, errPool := selectorOf(pool.Spec.ClusterSelector)
		if err := errors.Join(err, errPool); err != nil {
			return err.Error()
		}
		for _, cluster := range clusters {
			if !chosen.Matches(cluster.Labels) {
				continue
			}
			if !has.Matches(cluster.Labels) {
				return fmt.Sprintf("DPU cluster %s doesn't get DPUServiceIPAM %s: correct its clusterSelector, or that of the chain",
					cluster.Name, pool.Name)
			}
			if all[cluster.Name] == nil {
				all[cluster.Name] = map[string]*request{}
			}
			had := all[cluster.Name][i.Name]
			if had != nil && !reflect.DeepEqual(had, want) {
				return "in DPU cluster " + cluster.Name.String() + " another port asks for another address: on all nodes of a cluster it is one"
			}
			all[cluster.Name][i.Name] = want
		}
	}
	return ""
}

func selectorOf(clusters *metav1.LabelSelector) (labels.Selector, error) {
	if clusters == nil {
		return labels.Everything(), nil
	}
	chosen, err := metav1.LabelSelectorAsSelector(clusters)
	if err != nil {
		return nil, fmt.Errorf("read the clusterSelector: %w", err)
	}
	return chosen, nil
}

// ipamsOf the ports that an interface is plugged into.
func ipamsOf(i *svcv1.DPUServiceInterface, c *svcv1.DPUServiceChain) (all []*svcv1.IPAM) {
	has := labels.Set(with(labels.Merge(i.Spec.Template.Spec.Template.Metadata.Labels, nil), // what sets make of it has these
		svcv1.ServiceIDLabel, i.Spec.Template.Spec.Template.Spec.Service.ServiceID))
	for _, s := range c.Spec.Template.Spec.Template.Spec.Switches {
		for _, port := range s.Ports {
			if port.ServiceInterface.IPAM != nil && labels.SelectorFromSet(port.ServiceInterface.MatchLabels).Matches(has) {
				all = append(all, port.ServiceInterface.IPAM)
			}
		}
	}
	return all
}

// requestFor an address of the one pool that a port chooses, and the pool; or why there can't be one.
func requestFor(ipam *svcv1.IPAM, pools []svcv1.DPUServiceIPAM) (made *request, pool *svcv1.DPUServiceIPAM, problem string) {
	selector := labels.SelectorFromSet(ipam.MatchLabels)
	var names []string
	for i := range pools {
		if selector.Matches(labels.Set(pools[i].Spec.Metadata.Labels)) {
			pool, names = &pools[i], append(names, pools[i].Name)
		}
	}
	switch len(names) {
	case 0:
		return nil, nil, "no DPUServiceIPAM of this namespace has the labels " + selector.String() + " in spec.metadata: create it"
	case 1:
	default:
		slices.Sort(names)
		return nil, nil, "DPUServiceIPAMs " + strings.Join(names, ", ") + " have the labels " + selector.String() + ": only one may"
	}
	made = &request{Args: arguments{PoolNames: []string{dpuset.PoolKey(pool).Name}, PoolType: "ippool", Gateway: ipam.DefaultGateway}}
	network, subnet := pool.Spec.IPV4Network, pool.Spec.IPV4Subnet
	if network != nil {
		made.Args.PoolType = "cidrpool"
	}
	switch gateway := network != nil && network.GatewayIndex != nil || subnet != nil && subnet.Gateway != ""; {
	case !gateway && (ipam.DefaultGateway || ipam.SetDefaultRoute):
		return nil, nil, "DPUServiceIPAM " + pool.Name + " has no gateway: set one, or take defaultGateway and setDefaultRoute out"
	case ipam.SetDefaultRoute && subnet != nil:
		made.DefaultRoute = []string{string(subnet.Gateway)}
	case ipam.SetDefaultRoute && !network.DefaultGateway: // then NV-IPAM, which knows each node's, makes the route
		return nil, nil, "each node has another gateway of DPUServiceIPAM " + pool.Name + ": set its ipv4Network.defaultGateway for setDefaultRoute"
	}
	return made, pool, ""
}
