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
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

const (
	instanceKey = "instance"
	// siteParam is the site that an attempt was made at: the instance is looked for there.
	siteParam = "site"
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

func (r *Reconciler) open(api *bmm.Client, secret string, around owners, object *infrav1.NvidiaBMMMachine) (*node, error) {
	n := &node{reconciler: r, api: api, owners: around, object: object}
	n.kind = &graph.Kind[bmm.Instance]{
		Name: "instance",
		ID:   func(i *bmm.Instance) string { return i.ID },
		Tag:  func(i *bmm.Instance) graph.Tag { return tag.FromLabels(i.Labels) },
		Get: func(ctx context.Context, id string) (*bmm.Instance, error) {
			return r.Instances.Instance(ctx, api, n.siteID(), id)
		},
		Find:   n.findInstance,
		Phase:  func(i *bmm.Instance) graph.Phase { return n.announced(instancePhase(i)) },
		Delete: n.deleteInstance,
	}
	g, err := r.Engine.New(object, secret, n.kind)
	n.graph = g
	return n, err
}

// siteID of the instance. The machine's own records come first: they survive `clusterctl move`, and the NvidiaBMMCluster.
func (n *node) siteID() string {
	if id, err := providerid.Parse(n.object.Spec.ProviderID); err == nil {
		return id.SiteID
	}
	if site := n.graph.Param(instanceKey, siteParam); site != "" || n.infra == nil {
		return site
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
	case bmm.InstanceRepairing, bmm.InstanceRebooting, bmm.InstanceUpdating: // it was ready, and comes back as the same
		return graph.Waiting("instance %s is %s", i.ID, i.Status).Because(string(i.Status))
	}
	return graph.Waiting("instance %s is %s", i.ID, i.Status)
}

// announced is a phase whose change the list tells, once the machine can be found by its instance.
func (n *node) announced(p graph.Phase) graph.Phase {
	if n.object.Status.InstanceID == "" || n.object.Status.InstanceID != n.graph.ID(instanceKey) {
		return p
	}
	return p.Announced()
}

func (n *node) wantInstance(after ...graph.Ref) {
	n.instance = graph.Add(n.graph, n.kind, graph.Want[bmm.Instance]{
		Key: instanceKey, Condition: infrav1.InstanceProvisionedCondition, After: after,
		Choose: func(context.Context) (map[string]string, error) { return map[string]string{siteParam: n.siteID()}, nil },
		Create: n.createInstance,
		Diff: func(i *bmm.Instance) []graph.Change {
			_, changes := n.update(i)
			return changes
		},
		Apply: func(ctx context.Context, i *bmm.Instance, _ []graph.Change) error {
			update, _ := n.update(i)
			defer n.reconciler.Instances.Touch(n.api, i.SiteID, i.ID)
			_, err := n.api.UpdateInstance(ctx, i.SiteID, i.ID, update)
			return err
		},
		IfLost: "delete the Machine to get another one", // A machine isn't repaired under its node.
	})
}

func (n *node) createInstance(ctx context.Context, key graph.Key) (graph.Call[bmm.Instance], error) {
	request, err := n.instanceRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	hardware, machine := "machine of instance type "+request.InstanceTypeID, n.machine.Name
	if request.MachineID != "" {
		hardware = "machine " + request.MachineID
	}
	return func(ctx context.Context) (*bmm.Instance, error) {
		instance, err := n.api.CreateInstance(ctx, *request)
		if err != nil {
			return nil, refused(err, hardware, machine)
		}
		n.reconciler.Instances.Put(n.api, instance)
		return instance, nil
	}, nil
}

// instanceRequest is what the spec, the cluster and the bootstrap data ask for.
func (n *node) instanceRequest(ctx context.Context, key graph.Key) (*bmm.InstanceCreateRequest, error) {
	userData, err := n.userData(ctx)
	if err != nil {
		return nil, err
	}
	interfaces, phase := n.interfaces()
	if phase.State != graph.StateReady {
		return nil, &fault.Error{Class: fault.Invalid, Err: errors.New(phase.Message)}
	}
	spec := n.object.Spec
	request := &bmm.InstanceCreateRequest{
		Name:                     n.object.Name,
		Description:              spec.Description,
		TenantID:                 n.infra.Spec.TenantID,
		VPCID:                    n.infra.Status.VPCID,
		InstanceTypeID:           n.instanceTypeID(),
		MachineID:                spec.InstanceType.MachineID,
		AllowUnhealthyMachine:    ptr.Deref(spec.InstanceType.AllowUnhealthyMachine, false),
		OperatingSystemID:        spec.OperatingSystem.ID,
		IpxeScript:               spec.OperatingSystem.IPXEScript,
		AlwaysBootWithCustomIpxe: ptr.Deref(spec.AlwaysBootWithCustomIpxe, false),
		Interfaces:               interfaces,
		NetworkSecurityGroupID:   n.securityGroupID(),
		SSHKeyGroupIDs:           spec.SSHKeyGroups,
		Labels:                   tag.Labels(spec.Labels, key),
		UserData:                 userData,
		// With phone-home on the service writes the user data anew, which breaks kubeadm's templates.
		PhoneHomeEnabled: ptr.To(ptr.Deref(spec.PhoneHomeEnabled, false)),
	}
	addDevices(request, spec)
	return request, nil
}

// addDevices asks for what the machine has beside its Ethernet interfaces.
func addDevices(request *bmm.InstanceCreateRequest, spec infrav1.NvidiaBMMMachineSpec) {
	for _, i := range spec.InfiniBandInterfaces {
		request.InfiniBandInterfaces = append(request.InfiniBandInterfaces, bmm.InfiniBandInterfaceCreateRequest{
			PartitionID: i.PartitionID, Device: i.Device, DeviceInstance: int(ptr.Deref(i.DeviceInstance, 0)),
			IsPhysical: ptr.Deref(i.IsPhysical, false),
		})
	}
	for _, i := range spec.NVLinkInterfaces {
		request.NVLinkInterfaces = append(request.NVLinkInterfaces, bmm.NVLinkInterfaceCreateRequest{
			NVLinkLogicalPartitionID: i.LogicalPartitionID, DeviceInstance: int(ptr.Deref(i.DeviceInstance, 0)),
		})
	}
	for _, s := range spec.DPUExtensionServices {
		request.DPUExtensionServiceDeployments = append(request.DPUExtensionServiceDeployments,
			bmm.DPUExtensionServiceDeploymentRequest{DPUExtensionServiceID: s.ServiceID, Version: s.Version})
	}
}

// refused says what to do when the BMM API doesn't make an instance.
func refused(err error, hardware, machine string) error {
	switch fault.ClassOf(err) {
	case fault.Quota:
		return fmt.Errorf("%w: there is no free %s for this tenant: give one back, or ask the site's provider for one",
			err, hardware)
	case fault.Invalid:
		return fmt.Errorf("%w: replace Machine %s, which asks for a %s, by one that asks for something else",
			err, machine, hardware)
	case fault.Conflict:
		return fmt.Errorf("%w: delete or rename the other instance, or replace Machine %s by one of another name", err, machine)
	}
	return err
}

// instanceTypeID is that of the failure domain, where it has one: not every rack has every type of machine.
func (n *node) instanceTypeID() string {
	if domain, _ := n.failureDomain(); domain.InstanceTypeID != "" && n.object.Spec.InstanceType.MachineID == "" {
		return domain.InstanceTypeID
	}
	return n.object.Spec.InstanceType.ID
}

// update is what makes an instance as the spec wants it, and the same for people.
func (n *node) update(i *bmm.Instance) (bmm.InstanceUpdateRequest, []graph.Change) {
	var update bmm.InstanceUpdateRequest
	var changes []graph.Change
	attached := i.NetworkSecurityGroupID
	if i.NetworkSecurityGroupInherited {
		attached = ""
	}
	if wanted := n.securityGroupID(); wanted != attached && n.groupKnown() {
		update.NetworkSecurityGroupID = &wanted
		changes = append(changes, graph.Change{Field: "networkSecurityGroupId", From: attached, To: wanted})
	}
	return update, changes
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
