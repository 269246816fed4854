package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// recovery is how long everything may take to become right after a storm. The slowest way to it is a create that was
// refused, and is tried again after ten poll intervals.
const recovery = 4 * time.Minute

// untilRight waits until exactly the wanted clusters and machines are there, and provisioned.
func (s *soak) untilRight(ctx context.Context) error {
	return s.until(ctx, "the fleet is as wanted", recovery, func(context.Context) error { return s.wrong(s.wanted) })
}

// wrong names something that isn't as wanted.
func (o *observer) wrong(wanted map[string][]string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	machines := 0
	for cluster, names := range wanted {
		if o.clusterSights[cluster].provisioned.IsZero() {
			return fmt.Errorf("cluster %s isn't provisioned", cluster)
		}
		for _, name := range names {
			machines++
			if o.machineSights[name].provisioned.IsZero() {
				return fmt.Errorf("machine %s isn't provisioned", name)
			}
		}
	}
	return errors.Join(count("clusters", len(o.clusterSights), len(wanted)), count("machines", len(o.machineSights), machines))
}

// audit compares what is outside with what the objects say: one for one, nothing more and nothing less.
func (s *soak) audit(ctx context.Context) error {
	machines, clusters := &infrav1.NvidiaBMMMachineList{}, &infrav1.NvidiaBMMClusterList{}
	if err := errors.Join(s.rig.client.List(ctx, machines, client.InNamespace(fleetNamespace)),
		s.rig.client.List(ctx, clusters, client.InNamespace(fleetNamespace))); err != nil {
		return err
	}
	state, err := s.site.State(ctx)
	if err != nil {
		return err
	}
	var instances, vpcs, subnets, known, knownVPCs, knownSubnets []string
	for _, m := range machines.Items {
		known = append(known, m.Name+" "+m.Status.InstanceID)
	}
	for _, c := range clusters.Items {
		knownVPCs = append(knownVPCs, c.Status.VPCID)
		for _, n := range c.Status.Subnets {
			knownSubnets = append(knownSubnets, n.ID)
		}
	}
	for _, i := range state.Instances {
		instances = append(instances, i.Name+" "+i.ID)
	}
	for _, v := range state.VPCs {
		vpcs = append(vpcs, v.ID)
	}
	for _, n := range state.Subnets {
		subnets = append(subnets, n.ID)
	}
	return errors.Join(
		same("instances", instances, known), same("VPCs", vpcs, knownVPCs), same("subnets", subnets, knownSubnets))
}

func same(what string, outside, known []string) error {
	slices.Sort(outside)
	slices.Sort(known)
	if slices.Equal(outside, known) {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(outside), func(id string) bool { return slices.Contains(known, id) })
	missing := slices.DeleteFunc(slices.Clone(known), func(id string) bool { return slices.Contains(outside, id) })
	return fmt.Errorf("outside there are %d %s for %d: without an owner are %v, missing are %v",
		len(outside), what, len(known), left, missing)
}
