package instance

import (
	"fmt"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/bmm/userdata"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// NetworkID is a subnet or a VPC prefix; exactly one of the two is set.
type NetworkID struct{ Subnet, Prefix string }

// Place is where an instance is put.
type Place struct {
	TenantID, VPCID string
	// InstanceTypeID overrides the spec's, if the place has a type of its own.
	InstanceTypeID string
	// Networks of the interfaces, in their order.
	Networks []NetworkID
	// SecurityGroupID that is attached to the instance itself; may be empty.
	SecurityGroupID string
}

// Request is the request that creates an instance. Each interface of the spec has its network in the place.
func Request(name string, k graph.Key, spec infrav1.InstanceSpec, place Place, userData string) *bmm.InstanceCreateRequest {
	request := &bmm.InstanceCreateRequest{
		Name:                     name,
		Description:              spec.Description,
		TenantID:                 place.TenantID,
		VPCID:                    place.VPCID,
		InstanceTypeID:           TypeID(spec, place.InstanceTypeID),
		MachineID:                spec.InstanceType.MachineID,
		AllowUnhealthyMachine:    ptr.Deref(spec.InstanceType.AllowUnhealthyMachine, false),
		OperatingSystemID:        spec.OperatingSystem.ID,
		IpxeScript:               spec.OperatingSystem.IPXEScript,
		AlwaysBootWithCustomIpxe: ptr.Deref(spec.AlwaysBootWithCustomIpxe, false),
		NetworkSecurityGroupID:   place.SecurityGroupID,
		SSHKeyGroupIDs:           spec.SSHKeyGroups,
		Labels:                   tag.Labels(spec.Labels, k),
		UserData:                 userData,
		// With phone-home on the service puts #cloud-config in front of the user data, which breaks kubeadm's templates.
		PhoneHomeEnabled: ptr.To(ptr.Deref(spec.PhoneHomeEnabled, false)),
	}
	for index, i := range spec.Network.Interfaces() {
		request.Interfaces = append(request.Interfaces, bmm.InterfaceCreateRequest{
			SubnetID:          place.Networks[index].Subnet,
			VPCPrefixID:       place.Networks[index].Prefix,
			IPAddress:         i.IPAddress,
			IsPhysical:        ptr.Deref(i.IsPhysical, false),
			Device:            i.Device,
			DeviceInstance:    number(i.DeviceInstance),
			VirtualFunctionID: int(ptr.Deref(i.VirtualFunctionID, 0)),
		})
	}
	addDevices(request, spec)
	return request
}

// TypeID is the type of machine that a spec asks for at a place; empty if it asks for one certain machine. Not every
// rack has every type, so the place's comes first.
func TypeID(spec infrav1.InstanceSpec, ofPlace string) string {
	if ofPlace != "" && spec.InstanceType.MachineID == "" {
		return ofPlace
	}
	return spec.InstanceType.ID
}

func number(n *int32) *int {
	if n == nil {
		return nil
	}
	return ptr.To(int(*n))
}

// addDevices adds what the machine has beside its Ethernet interfaces.
func addDevices(request *bmm.InstanceCreateRequest, spec infrav1.InstanceSpec) {
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

// refused says what to do when the BMM API doesn't create an instance.
func refused(err error, request *bmm.InstanceCreateRequest) error {
	hardware := "machine of instance type " + request.InstanceTypeID
	if request.MachineID != "" {
		hardware = "machine " + request.MachineID
	}
	switch fault.ClassOf(err) {
	case fault.Quota:
		return fmt.Errorf("%w: there is no free %s for this tenant: give one back, or ask the site's provider for one",
			err, hardware)
	case fault.Invalid:
		return fmt.Errorf("%w: replace Machine %s, which asks for a %s, by one that asks for something else",
			err, request.Name, hardware)
	case fault.Conflict:
		return fmt.Errorf("%w: delete or rename the other instance, or replace Machine %s by one of another name", err, request.Name)
	}
	return err
}

// UserData is what to send so that an instance boots with what a Secret has under a key. The error says what the remedy is.
func UserData(secret *corev1.Secret, key, remedy string, spec infrav1.InstanceSpec) (string, error) {
	data, from := secret.Data[key], fmt.Sprintf("key %q of Secret %s/%s", key, secret.Namespace, secret.Name)
	var why error
	switch {
	case len(data) == 0:
		why = fmt.Errorf("%s is empty: %s", from, remedy)
	case !utf8.Valid(data):
		why = fmt.Errorf("%s isn't UTF-8, and the BMM API takes text only: %s", from, remedy)
	default:
		sent, err := userdata.Sendable(string(data), ptr.Deref(spec.PhoneHomeEnabled, false))
		if err == nil {
			return sent, nil
		}
		why = fmt.Errorf("%s: %w", from, err)
	}
	return "", &fault.Error{Class: fault.Invalid, Op: "read the user data", Err: why}
}
