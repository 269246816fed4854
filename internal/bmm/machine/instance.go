package machine

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// node is the graph of one NvidiaBMMMachine: an instance.
type node struct {
	reconciler *Reconciler
	api        *bmm.Client
	graph      *graph.Graph
	owners
	object *infrav1.NvidiaBMMMachine

	kind     *graph.Kind[bmm.Instance]
	instance *graph.Handle[bmm.Instance]
}

func (r *Reconciler) open(api *bmm.Client, around owners, object *infrav1.NvidiaBMMMachine) (*node, error) {
	n := &node{reconciler: r, api: api, owners: around, object: object}
	n.kind = &graph.Kind[bmm.Instance]{
		Name: "instance",
		ID:   func(i *bmm.Instance) string { return i.ID },
		Tag:  func(i *bmm.Instance) graph.Tag { return tag.FromLabels(i.Labels) },
		Get: func(ctx context.Context, id string) (*bmm.Instance, error) {
			return api.Instance(ctx, n.siteID(), id)
		},
		Find:   n.findInstance,
		Phase:  instancePhase,
		Delete: func(ctx context.Context, id string) error { return api.DeleteInstance(ctx, n.siteID(), id) },
	}
	g, err := r.Engine.New(object, cluster.SecretOf(around.infra).String(), n.kind)
	n.graph = g
	return n, err
}

// siteID of the instance. The machine's own record comes first: it survives `clusterctl move`.
func (n *node) siteID() string {
	if id, err := providerid.Parse(n.object.Spec.ProviderID); err == nil {
		return id.SiteID
	}
	return n.infra.Status.SiteID
}

// findInstance looks by name, which is exact, and not by label: the name is the machine's own.
func (n *node) findInstance(ctx context.Context, _ graph.Key) ([]bmm.Instance, error) {
	return n.api.Instances(ctx, bmm.InstanceFilter{SiteID: n.siteID(), Name: n.object.Name})
}

func instancePhase(i *bmm.Instance) graph.Phase {
	switch i.Status {
	case bmm.InstanceReady:
		return graph.Ready()
	case bmm.InstanceTerminating, bmm.InstanceTerminated:
		return graph.Deleting()
	case bmm.InstanceError:
		return graph.Failed("the BMM API reports instance %s as Error: ask the site's operator, or delete the Machine to "+
			"get another one", i.ID)
	}
	return graph.Waiting("instance %s is %s", i.ID, i.Status)
}

func (n *node) wantInstance(after ...graph.Ref) {
	n.instance = graph.Add(n.graph, n.kind, graph.Want[bmm.Instance]{
		Key: "instance", Condition: infrav1.InstanceProvisionedCondition, After: after,
		Claim: graph.Create(), Create: n.createInstance,
		IfLost: "delete the Machine to get another one", // A machine isn't repaired under its node.
	})
}

func (n *node) createInstance(ctx context.Context, key graph.Key) (graph.Call[bmm.Instance], error) {
	userData, err := n.userData(ctx)
	if err != nil {
		return nil, err
	}
	subnet, _ := subnetOf(n.infra, n.object)
	spec := n.object.Spec
	request := bmm.InstanceCreateRequest{
		Name:                  n.object.Name,
		Description:           spec.Description,
		TenantID:              n.infra.Spec.TenantID,
		VPCID:                 n.infra.Status.VPCID,
		InstanceTypeID:        spec.InstanceType.ID,
		MachineID:             spec.InstanceType.MachineID,
		AllowUnhealthyMachine: ptr.Deref(spec.InstanceType.AllowUnhealthyMachine, false),
		OperatingSystemID:     spec.OperatingSystem.ID,
		Interfaces:            []bmm.InterfaceCreateRequest{{SubnetID: subnet.ID}},
		SSHKeyGroupIDs:        spec.SSHKeyGroups,
		Labels:                tag.Labels(spec.Labels, key),
		UserData:              userData,
		// With phone-home on the service writes the user data anew, which breaks kubeadm's templates.
		PhoneHomeEnabled: ptr.To(false),
	}
	return func(ctx context.Context) (*bmm.Instance, error) { return n.api.CreateInstance(ctx, request) }, nil
}

// userData is the bootstrap data, byte for byte.
func (n *node) userData(ctx context.Context) (string, error) {
	name := types.NamespacedName{Namespace: n.object.Namespace, Name: ptr.Deref(n.machine.Spec.Bootstrap.DataSecretName, "")}
	secret := &corev1.Secret{}
	if err := n.reconciler.Engine.Live.Get(ctx, name, secret); err != nil {
		return "", &fault.Error{Class: fault.Transient, Op: "read the bootstrap data", Err: err}
	}
	data := secret.Data["value"]
	switch {
	case len(data) == 0:
		err := fmt.Errorf("secret %s has no data under the key \"value\": let the bootstrap provider write it again", name)
		return "", &fault.Error{Class: fault.Invalid, Op: "read the bootstrap data", Err: err}
	case !utf8.Valid(data):
		err := errors.New("it isn't UTF-8, and the BMM API takes text only: let the bootstrap provider write text")
		return "", &fault.Error{Class: fault.Invalid, Op: "read the bootstrap data", Err: err}
	}
	return string(data), nil
}
