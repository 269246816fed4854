package actuator

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/lifecycle"
)

// userDataKey is where OpenShift's installer and its machine config operator put user data.
const userDataKey = "userData"

// node is the graph of one Machine: an instance.
type node struct {
	*instance.Instance
	actuator *Actuator
	api      *bmm.Client
	owner    *owner
	spec     bmmv1.NvidiaBMMMachineProviderSpec
	// place and userData are known once their gates are open.
	place    instance.Place
	siteID   string
	userData string
}

var _ instance.Machine = &node{}

// newNode opens a graph. An error means that the ledger can't be used.
func (a *Actuator) newNode(
	ctx context.Context, login *lifecycle.Login[*bmm.Client], o *owner, spec bmmv1.NvidiaBMMMachineProviderSpec,
) (*node, error) {
	n := &node{actuator: a, api: login.API, owner: o, spec: spec}
	opened, err := instance.Open(ctx, a.Engine, o, login.Secret.String(), login.API, a.Instances, &a.reports, n)
	n.Instance = opened
	return n, err
}

// reconcile brings the instance a step further, and shows it in the Machine.
func (n *node) reconcile(ctx context.Context) (ctrl.Result, error) {
	references := n.Graph.Gate(bmmv1.ReferencesResolvedCondition, func() phases.Phase { return n.referencesPhase(ctx) })
	userData := n.Graph.Gate(bmmv1.UserDataReadyCondition, func() phases.Phase { return n.userDataPhase(ctx) })
	result, err := n.Reconcile(ctx, references, userData)
	n.project(ctx)
	return result, err
}

// referencesPhase reports whether the instance can be put where the spec wants it. Once there is one, problems of the
// site and the VPC aren't the Machine's any more.
func (n *node) referencesPhase(ctx context.Context) phases.Phase {
	if n.ID() != "" {
		return phases.Ready()
	}
	site, err := n.actuator.Places.find(ctx, n.api, n.spec)
	if err != nil {
		return phases.Of(err)
	}
	networks, err := site.networksOf(n.spec.Network)
	if err != nil {
		return phases.Of(err)
	}
	group, _ := n.SecurityGroup()
	n.siteID = site.id
	n.place = instance.Place{TenantID: n.spec.TenantID, VPCID: n.spec.VPCID, Networks: networks, SecurityGroupID: group}
	return phases.Ready()
}

// findSite finds the site of the instance of a Machine that is being deleted, for a ledger that is older than the instance. If the VPC in
// the spec is gone, there is no instance.
func (n *node) findSite(ctx context.Context) error {
	site, err := n.actuator.Places.find(ctx, n.api, n.spec)
	switch fault.ClassOf(err) {
	case "":
		n.siteID = site.id
	case fault.NotFound, fault.Invalid, fault.Credentials: // the deletion reports the last one
	default:
		return err
	}
	return nil
}

// userDataPhase reads the user data, as long as there is no instance.
func (n *node) userDataPhase(ctx context.Context) phases.Phase {
	if n.ID() != "" {
		return phases.Ready()
	}
	name := types.NamespacedName{Namespace: n.owner.Namespace, Name: n.spec.UserDataSecret.Name}
	secret := &corev1.Secret{}
	err := n.actuator.Engine.Live.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		return phases.Waiting("Secret %s does not exist: create it, with the user data under the key %s", name, userDataKey)
	}
	if err == nil {
		n.userData, err = instance.UserData(secret, userDataKey, "put into it what the instance is to boot with", n.spec.InstanceSpec)
	}
	if err != nil {
		return phases.Of(err)
	}
	return phases.Ready()
}

// InstanceName is the Machine's own: its Node gets that name, and the instance is found by it.
func (n *node) InstanceName() string { return n.owner.Name }

// Shown are the IDs in spec and status.
func (n *node) Shown() (providerID, instanceID string) {
	if id := n.owner.Spec.ProviderID; id != nil {
		providerID = *id
	}
	return providerID, n.owner.status.InstanceID
}

// NewSiteID is the one that the spec names.
func (n *node) NewSiteID() string { return n.siteID }

// Network is that of the spec.
func (n *node) Network() infrav1.NetworkSpec { return n.spec.Network }

// InstanceRequest is made from the spec and the user data.
func (n *node) InstanceRequest(_ context.Context, key graph.Key) (*bmm.InstanceCreateRequest, error) {
	return instance.Request(n.owner.Name, key, n.spec.InstanceSpec, n.place, n.userData), nil
}

// InstanceTypeID is the one that the spec names.
func (n *node) InstanceTypeID() string { return n.spec.InstanceType.ID }

// SecurityGroup is the one that the spec names. If it names none, what is attached is left to the user.
func (n *node) SecurityGroup() (id string, known bool) {
	id = n.spec.Network.NetworkSecurityGroupID
	return id, id != ""
}
