package machine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// gates are what a virtual machine needs. Each is asked for only until there is one.
func (n *node) gates(ctx context.Context) (all []graph.Ref) {
	gate := func(condition string, check func(context.Context) phases.Phase, after ...graph.Ref) graph.Ref {
		ref := n.graph.Gate(condition, func() phases.Phase {
			if n.exists() {
				return phases.Ready()
			}
			return check(ctx)
		}, after...)
		all = append(all, ref)
		return ref
	}
	cluster := gate(infrav1.ClusterReadyCondition, n.clusterPhase)
	gate(infrav1.ImageReadyCondition, n.imagePhase, cluster)
	gate(infrav1.BootstrapDataReadyCondition, n.bootstrapPhase)
	gate(infrav1.ZoneReadyCondition, n.zonePhase, cluster)
	gate(infrav1.NetworkReadyCondition, n.networkPhase, cluster)
	return all
}

// clusterPhase waits for the cluster, and finds the workspace.
func (n *node) clusterPhase(ctx context.Context) phases.Phase {
	if n.infra == nil {
		return phases.Waiting("there is no IBMPowerVSCluster yet")
	}
	spec, status := &n.object.Spec, &n.infra.Status
	switch {
	case !ptr.Deref(status.Initialization.Provisioned, false):
		return phases.Waiting("IBMPowerVSCluster %s isn't ready yet", n.infra.Name)
	case status.ServiceInstance == nil && !n.namesWorkspace():
		return phases.Waiting("neither this machine nor IBMPowerVSCluster %s has a workspace: set spec.serviceInstance of the cluster", n.infra.Name)
	case status.Network == nil && ptr.Deref(spec.Network, infrav1.IBMPowerVSResourceReference{}) == (infrav1.IBMPowerVSResourceReference{}):
		return phases.Waiting("neither this machine nor IBMPowerVSCluster %s has a network: set spec.network of the cluster", n.infra.Name)
	}
	if n.in.ID != "" { // that of an attempt
		return phases.Ready()
	}
	in, err := n.workspace(ctx)
	if err != nil {
		return phases.Of(err)
	}
	n.in = in
	return phases.Ready()
}

// namesWorkspace reports whether the spec names one.
func (n *node) namesWorkspace() bool {
	spec := &n.object.Spec
	return spec.ServiceInstance != nil && spec.ServiceInstance.Name != "" || spec.WorkspaceID() != ""
}

// workspace is that of the spec, or else the cluster's.
func (n *node) workspace(ctx context.Context) (in ibm.Workspace, _ error) {
	spec := &n.object.Spec
	id := spec.WorkspaceID()
	if id == "" && spec.ServiceInstance != nil && spec.ServiceInstance.Name != "" {
		all, err := n.api.Instances(ctx, ibm.PlanPowerVS, spec.ServiceInstance.Name)
		if err != nil {
			return in, err
		}
		found, err := theOne("workspace", spec.ServiceInstance.Name, all, func(i ibm.Instance) string { return i.ID })
		return ibm.Workspace{Zone: found.Target, ID: found.ID}, err
	}
	if id == "" {
		id = n.infra.Status.ServiceInstance.ID
		if n.infra.Spec.Zone != "" {
			return ibm.Workspace{Zone: n.infra.Spec.Zone, ID: id}, nil
		}
	}
	found, err := n.api.Instance(ctx, id)
	if err != nil {
		return in, missing("workspace", id, err)
	}
	return ibm.Workspace{Zone: found.Target, ID: found.ID}, nil
}

// theOne is the only one of what has a name.
func theOne[T any](kind, name string, all []T, id func(T) string) (one T, _ error) {
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		return one, fault.Invalidf("there is no %s %q: create it, or replace this machine by one that names another", kind, name)
	}
	var ids []string
	for _, o := range all {
		ids = append(ids, id(o))
	}
	slices.Sort(ids)
	return one, fault.Invalidf("%q stands for several: %s %s; replace this machine by one that names the %[2]s by its ID",
		name, kind, strings.Join(ids, ", "))
}

// missing says what to do about something that the spec names by its ID.
func missing(kind, id string, err error) error {
	if fault.IsNotFound(err) {
		return fault.Invalidf("there is no %s %s: replace this machine by one that names another", kind, id)
	}
	return fmt.Errorf("%s %s: %w", kind, id, err)
}

// imagePhase waits for the image: one that is imported for machines, or one that the workspace has.
func (n *node) imagePhase(ctx context.Context) phases.Phase {
	if n.object.Spec.ImageRef != nil {
		return n.importedPhase(ctx, n.object.Spec.ImageRef.Name)
	}
	var image ibm.Image
	reference := ptr.Deref(n.object.Spec.Image, infrav1.IBMPowerVSResourceReference{})
	if reference.ID != "" {
		found, err := n.api.Image(ctx, n.in, reference.ID)
		if err != nil {
			return phases.Of(missing("image", reference.ID, err))
		}
		image = *found
	} else {
		all, err := n.api.Images(ctx, n.in)
		if err != nil {
			return phases.Of(err)
		}
		named := slices.DeleteFunc(all, func(i ibm.Image) bool { return i.Name != reference.Name })
		image, err = theOne("image", reference.Name, named, func(i ibm.Image) string { return i.ID })
		if err != nil {
			return phases.Of(err)
		}
	}
	if image.State != "active" {
		return phases.Waiting("image %s is %s", image.ID, image.State)
	}
	n.imageID = image.ID
	return phases.Ready()
}

func (n *node) importedPhase(ctx context.Context, name string) phases.Phase {
	image := &infrav1.IBMPowerVSImage{}
	err := n.reconciler.Get(ctx, types.NamespacedName{Namespace: n.object.Namespace, Name: name}, image)
	switch {
	case apierrors.IsNotFound(err):
		return phases.Waiting("there is no IBMPowerVSImage %s: create it", name)
	case err != nil:
		return phases.Of(err)
	case !image.Status.Ready || image.Status.ImageID == "":
		return phases.Waiting("IBMPowerVSImage %s isn't ready yet", name)
	}
	n.imageID = image.Status.ImageID
	return phases.Ready()
}

// zonePhase reports whether the zone has the host that the machine is to be on.
func (n *node) zonePhase(ctx context.Context) phases.Phase {
	zone, err := n.api.Zone(ctx, n.in.Zone)
	if err != nil {
		return phases.Of(err)
	}
	if system := n.object.Spec.System(); len(zone.SystemTypes) > 0 && !zone.Offers(system) {
		return phases.Failed("zone %s doesn't offer systemType %s, but %s: replace this machine by one with one of these",
			zone.Name, system, strings.Join(zone.SystemTypes, ", ")).Because("NotOffered")
	}
	return phases.Ready()
}

// networkPhase finds the network: that of the spec, or else the cluster's.
func (n *node) networkPhase(ctx context.Context) phases.Phase {
	reference := ptr.Deref(n.object.Spec.Network, infrav1.IBMPowerVSResourceReference{})
	if reference == (infrav1.IBMPowerVSResourceReference{}) {
		reference.ID = n.infra.Status.Network.ID
	}
	if reference.ID != "" {
		if _, err := n.api.Network(ctx, n.in, reference.ID); err != nil {
			return phases.Of(missing("network", reference.ID, err))
		}
		n.networkID = reference.ID
		return phases.Ready()
	}
	matches := func(name string) bool { return name == reference.Name }
	if reference.RegEx != "" {
		pattern, err := regexp.Compile(reference.RegEx)
		if err != nil {
			return phases.Failed("network.regex %q isn't a regular expression: replace this machine by one with another", reference.RegEx)
		}
		matches = pattern.MatchString
	}
	all, err := n.api.Networks(ctx, n.in)
	if err != nil {
		return phases.Of(err)
	}
	matching := slices.DeleteFunc(all, func(network ibm.Network) bool { return !matches(network.Name) })
	network, err := theOne("network", reference.Name+reference.RegEx, matching, func(network ibm.Network) string { return network.ID })
	if err != nil {
		return phases.Of(err)
	}
	n.networkID = network.ID
	return phases.Ready()
}
