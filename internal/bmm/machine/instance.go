package machine

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// node is the graph of one NvidiaBMMMachine: an instance.
type node struct {
	*instance.Instance
	owners
	object     *infrav1.NvidiaBMMMachine
	reconciler *Reconciler
}

var _ instance.Machine = &node{}

func (r *Reconciler) open(
	ctx context.Context, api *bmm.Client, secret string, around owners, object *infrav1.NvidiaBMMMachine,
) (*node, error) {
	n := &node{reconciler: r, owners: around, object: object}
	opened, err := instance.Open(ctx, r.Engine, object, secret, api, r.Instances, &r.reports, n)
	n.Instance = opened
	return n, err
}

// soon is when a machine is requeued that is ready at once: the cache has what was written by then.
const soon = 100 * time.Millisecond

// Reconcile makes the instance once the cluster's network and the bootstrap data exist, and shows it in the object.
func (n *node) Reconcile(ctx context.Context) (ctrl.Result, error) {
	result, err := n.Instance.Reconcile(ctx, n.prerequisites()...)
	if complete := n.project(); !complete && err == nil {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	return result, err
}

// Delete the instance, and show what is left of it.
func (n *node) Delete(ctx context.Context, finalizer string) (ctrl.Result, error) {
	result, err := n.Graph.DeleteAndRelease(ctx, finalizer)
	n.project()
	return result, err
}

// InstanceName is the object's own.
func (n *node) InstanceName() string { return n.object.Name }

// Shown are the IDs in spec and status.
func (n *node) Shown() (providerID, instanceID string) {
	return n.object.Spec.ProviderID, n.object.Status.InstanceID
}

// NewSiteID is the cluster's.
func (n *node) NewSiteID() string {
	if n.infra == nil {
		return ""
	}
	return n.infra.Status.SiteID
}

// Network is that of the spec.
func (n *node) Network() infrav1.NetworkSpec { return n.object.Spec.Network }

// InstanceRequest is made from the spec, the cluster and the bootstrap data.
func (n *node) InstanceRequest(ctx context.Context, key graph.Key) (*bmm.InstanceCreateRequest, error) {
	userData, err := n.userData(ctx)
	if err != nil {
		return nil, err
	}
	networks, phase := n.networks()
	if phase.State != phases.StateReady {
		return nil, &fault.Error{Class: fault.Invalid, Err: errors.New(phase.Message)}
	}
	group, _ := n.SecurityGroup()
	domain, _ := n.failureDomain()
	return instance.Request(n.object.Name, key, n.object.Spec.InstanceSpec, instance.Place{
		TenantID: n.infra.Spec.TenantID, VPCID: n.infra.Status.VPCID, InstanceTypeID: domain.InstanceTypeID,
		Networks: networks, SecurityGroupID: group,
	}, userData), nil
}

// InstanceTypeID is that of the failure domain, or the spec's.
func (n *node) InstanceTypeID() string {
	domain, _ := n.failureDomain()
	return instance.TypeID(n.object.Spec.InstanceSpec, domain.InstanceTypeID)
}

// userData is the bootstrap data.
func (n *node) userData(ctx context.Context) (string, error) {
	name := types.NamespacedName{Namespace: n.object.Namespace, Name: ptr.Deref(n.machine.Spec.Bootstrap.DataSecretName, "")}
	secret := &corev1.Secret{}
	if err := n.reconciler.Engine.Live.Get(ctx, name, secret); err != nil {
		return "", &fault.Error{Class: fault.Transient, Op: "read the bootstrap data", Err: err}
	}
	return instance.UserData(secret, "value", "let the bootstrap provider write it again", n.object.Spec.InstanceSpec)
}
