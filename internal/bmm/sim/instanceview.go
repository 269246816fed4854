package sim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/ptr"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

const (
	partReady   = "Ready"
	partPending = "Pending"
)

// partStatus is the status of the parts of an instance.
func (i *instance) partStatus(now time.Time) string {
	if now.Before(i.Ready) {
		return partPending
	}
	return partReady
}

// partID is an ID of a part of an instance that stays the same.
func (i *instance) partID(kind string, number int) string {
	return uuid.NewSHA1(uuid.MustParse(i.id), fmt.Appendf(nil, "%s %d", kind, number)).String()
}

func (s *Server) instanceView(i *instance, now time.Time) api.Instance {
	r := i.request
	status := i.Status(now)
	details, inherited := s.propagation(i.attachment, i.id, now), false
	if v, found := s.state.vpcs.byID(i.vpcID); found && i.groupID == "" {
		details, inherited = s.vpcPropagation(v, now), v.groupID != ""
	}
	return api.Instance{
		ID: i.id, Name: i.name, Description: i.description, Labels: i.labels,
		TenantID: i.tenantID, SiteID: i.siteID, VPCID: i.vpcID, SecondaryVPCIDs: r.SecondaryVPCIDs,
		InstanceTypeID: i.machine.typeID, MachineID: i.machine.id,
		OperatingSystemID: r.OperatingSystemID, IpxeScript: r.IpxeScript,
		AlwaysBootWithCustomIpxe: r.AlwaysBootWithCustomIpxe, PhoneHomeEnabled: wantsPhoneHome(r),
		UserData: r.UserData, SSHKeyGroupIDs: r.SSHKeyGroupIDs, SerialConsoleURL: s.serialConsole(i),
		NetworkSecurityGroupID: i.groupID, NetworkSecurityGroupInherited: inherited,
		NetworkSecurityGroupPropagationDetails: details,
		Interfaces:                             i.interfaceViews(now), InfiniBandInterfaces: i.infiniBandViews(now),
		NVLinkInterfaces: i.nvLinkViews(now), DPUExtensionServiceDeployments: s.deploymentViews(i, now),
		Status: api.InstanceStatus(status), IsUpdatePending: !i.Changed.IsZero() && now.Before(i.fresh),
		StatusHistory: []api.StatusDetail{{
			Status: status, Message: cmp.Or(i.reasonFor(status), "instance is "+status),
			Created: i.Updated(now), Updated: i.Updated(now),
		}},
		Created: i.Created, Updated: i.Updated(now),
	}
}

// reasonFor is why an instance has a status that doesn't follow from the clock.
func (i *instance) reasonFor(status string) string {
	if status == i.Forced {
		return i.Reason
	}
	return ""
}

func (s *Server) serialConsole(i *instance) string {
	site, _ := s.site(i.siteID) // sites don't go
	if site.SerialConsole == "" {
		return ""
	}
	return "ssh://" + i.id + "@" + site.SerialConsole
}

func (i *instance) interfaceViews(now time.Time) []api.Interface {
	views := make([]api.Interface, 0, len(i.interfaces))
	for number, n := range i.interfaces {
		w := n.wanted
		view := api.Interface{
			ID: n.id, InstanceID: i.id, SubnetID: w.SubnetID, VPCPrefixID: w.VPCPrefixID, IsPhysical: n.physical,
			Device: w.Device, DeviceInstance: w.DeviceInstance, VirtualFunctionID: w.VirtualFunctionID,
			RequestedIPAddress: w.IPAddress, Status: i.partStatus(now),
		}
		if view.Status == partReady {
			view.IPAddresses = []string{n.address.String()}
			view.MacAddress = fmt.Sprintf("02:00:00:%02x:%02x:%02x", i.machine.number>>8&0xff, i.machine.number&0xff, number)
		}
		views = append(views, view)
	}
	return views
}

func (i *instance) infiniBandViews(now time.Time) []api.InfiniBandInterface {
	views := make([]api.InfiniBandInterface, 0, len(i.request.InfiniBandInterfaces))
	for number, w := range i.request.InfiniBandInterfaces {
		view := api.InfiniBandInterface{
			ID: i.partID("infiniband", number), InstanceID: i.id, PartitionID: w.PartitionID, Device: w.Device,
			DeviceInstance: ptr.To(w.DeviceInstance), Vendor: w.Vendor, IsPhysical: true, Status: i.partStatus(now),
		}
		if view.Status == partReady {
			view.GUID = fmt.Sprintf("0200000000%04x%02x", i.machine.number&0xffff, number)
		}
		views = append(views, view)
	}
	return views
}

func (i *instance) nvLinkViews(now time.Time) []api.NVLinkInterface {
	views := make([]api.NVLinkInterface, 0, len(i.request.NVLinkInterfaces))
	for number, w := range i.request.NVLinkInterfaces {
		view := api.NVLinkInterface{
			ID: i.partID("nvlink", number), InstanceID: i.id, NVLinkLogicalPartitionID: w.NVLinkLogicalPartitionID,
			DeviceInstance: ptr.To(w.DeviceInstance), Status: i.partStatus(now),
		}
		if view.Status == partReady {
			view.GPUGUID = fmt.Sprintf("%04x%02x", i.machine.number&0xffff, w.DeviceInstance)
		}
		views = append(views, view)
	}
	return views
}
