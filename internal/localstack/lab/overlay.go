package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
)

// OverlayExample is the example whose hosts are on networks of their own, over DPUs in network namespaces.
const OverlayExample = "hydrazine"

// startOverlay applies the example to a fabric of six DPUs in two racks with all servers, waits until all hosts are ready, and
// until packets go where they have to and nowhere else.
func (r *run) startOverlay(ctx, _ context.Context, stack *localstack.Stack) (*Lab, error) {
	o, err := stack.StartHydrazine(ctx, fabric.DualStack(fabric.WithServices(fabric.Routed(6))))
	if err != nil {
		return nil, err
	}
	yaml, err := examples.Render(r.options.Example, map[string]string{"NAMESPACE": exampleNamespace})
	if err != nil {
		return nil, err
	}
	if err := stack.Apply(ctx, yaml); err != nil {
		return nil, fmt.Errorf("example %s: %w", r.options.Example, err)
	}
	groups, hosts := &resourcev1.ResourceGroupList{}, &resourcev1.ManagedResourceList{}
	if err := r.wait(ctx, "Hosts", func(ctx context.Context) (string, error) {
		if err := stack.Client().List(ctx, groups, client.InNamespace(exampleNamespace)); err != nil {
			return "", err
		}
		if err := stack.Client().List(ctx, hosts, client.InNamespace(exampleNamespace)); err != nil {
			return "", err
		}
		return unreadyHost(hosts.Items), nil
	}); err != nil {
		return nil, err
	}
	policy := &networkfabricv1.FabricPolicy{}
	err = stack.Client().Get(ctx, client.ObjectKey{Name: networkfabricv1.FabricPolicyName}, policy)
	if err != nil {
		return nil, fmt.Errorf("example %s: %w", r.options.Example, err)
	}
	flows, err := o.Settle(ctx, overlay.Objects{Groups: groups.Items, Resources: hosts.Items, Policy: policy.Spec})
	if err != nil {
		return nil, err
	}
	if err := r.wait(ctx, "Traffic", func(ctx context.Context) (string, error) {
		if wrong := o.Try(ctx, flows); wrong > 0 {
			return fmt.Sprintf("%d of %d flows are wrong", wrong, len(flows)), nil
		}
		return "", nil
	}); err != nil {
		var list strings.Builder
		return nil, errors.Join(err, overlay.Table(&list, flows), errors.New(list.String()))
	}
	lab := r.lab(stack)
	lab.Overlay = &Overlay{Namespace: exampleNamespace, Prefix: localstack.FabricPrefix(r.options.Dir), Traffic: flows}
	if lab.Overlay.Proxy, err = proxyOf(o); err != nil {
		return nil, err
	}
	for _, group := range groups.Items {
		lab.Overlay.Groups = append(lab.Overlay.Groups, group.Name)
	}
	return lab, nil
}

// proxyOf says how to reach the proxy: as an operator, and as the tenant whose objects are in the example's namespace.
func proxyOf(o *overlay.Overlay) (Proxy, error) {
	tenant, err := o.CertifyTenant(exampleNamespace)
	if err != nil {
		return Proxy{}, err
	}
	operator, err := o.CertifyTenant(overlay.Operators)
	return Proxy{Address: o.Proxied().String(), Tenant: filepath.Dir(tenant.Key), Operator: filepath.Dir(operator.Key)}, err
}

// unreadyHost returns what the first host waits for, or "".
func unreadyHost(hosts []resourcev1.ManagedResource) string {
	for _, host := range hosts {
		ready := meta.FindStatusCondition(host.Status.Conditions, resourcev1.ReadyCondition)
		if ready == nil {
			return host.Name + ": not reported yet"
		}
		if ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != host.Generation {
			return host.Name + ": " + cmp.Or(ready.Message, ready.Reason)
		}
	}
	return ""
}
