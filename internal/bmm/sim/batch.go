package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// CreateInstanceBatch implements the API: all instances or none. The world is one rack, so topology doesn't matter.
func (s *Server) CreateInstanceBatch(
	ctx context.Context, r gen.CreateInstanceBatchRequestObject,
) (gen.CreateInstanceBatchResponseObject, error) {
	if err := s.readBesides(ctx); err != nil {
		return nil, err
	}
	var orders []order
	err := s.change(func(now time.Time) (err error) {
		orders, err = s.orders(s.me(), *r.Body, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	unlock, err := s.lock(typeLock(s.me(), r.Body.InstanceTypeID))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.workflow(ctx, orders[0].siteID); err != nil {
		return nil, err
	}
	if abandoned := ctx.Err(); abandoned != nil && s.config.Abandoned != AbandonedCommitted {
		return nil, abandoned
	}
	views := []api.Instance{}
	err = s.change(func(now time.Time) error {
		instances, err := s.newInstances(s.me(), orders, now)
		if err != nil {
			return err
		}
		for _, i := range instances {
			s.schedulePowerOn(i, i.Ready.Sub(now))
		}
		views = viewsOf(instances, s.instanceView, now)
		return nil
	})
	return gen.CreateInstanceBatch201JSONResponse(views), err
}

func (s *Server) orders(m maker, batch api.InstanceBatchCreateRequest, now time.Time) ([]order, error) {
	for _, r := range batch.Interfaces {
		if r.IPAddress != "" {
			return nil, badField("interfaces", "ipAddress cannot be specified for a batch of Instances")
		}
	}
	var all []order
	for n := range batch.Count {
		o, err := s.order(m, batchMember(batch, n+1), batch.Count, now)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// newInstances adds the instances, unless one of them is refused.
func (s *Server) newInstances(m maker, orders []order, now time.Time) ([]*instance, error) {
	machines, err := s.takeMachines(m, orders[0].request, orders[0].siteID, len(orders), now)
	if err != nil {
		return nil, err
	}
	before := slices.Clone(s.state.instances.Items)
	var added []*instance
	for n, o := range orders {
		i, err := s.newInstance(m, o, machines[n], now)
		if err != nil {
			s.state.instances.Items = before
			return nil, err
		}
		s.state.instances.Add(i)
		added = append(added, i)
	}
	return added, nil
}

// batchMember is the request for one of the instances.
func batchMember(b api.InstanceBatchCreateRequest, number int) api.InstanceCreateRequest {
	return api.InstanceCreateRequest{
		Name: fmt.Sprintf("%s-%d", b.NamePrefix, number), Description: b.Description, Labels: b.Labels,
		TenantID: b.TenantID, VPCID: b.VPCID, SecondaryVPCIDs: b.SecondaryVPCIDs, Interfaces: b.Interfaces,
		InstanceTypeID: b.InstanceTypeID, OperatingSystemID: b.OperatingSystemID, IpxeScript: b.IpxeScript,
		AlwaysBootWithCustomIpxe: b.AlwaysBootWithCustomIpxe, UserData: b.UserData, PhoneHomeEnabled: b.PhoneHomeEnabled,
		NetworkSecurityGroupID: b.NetworkSecurityGroupID, SSHKeyGroupIDs: b.SSHKeyGroupIDs,
		InfiniBandInterfaces: b.InfiniBandInterfaces, NVLinkInterfaces: b.NVLinkInterfaces,
		DPUExtensionServiceDeployments: b.DPUExtensionServiceDeployments,
	}
}
