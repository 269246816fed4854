package v1alpha1

// Finalizers that keep an object until what was made for it on the DPUs, or beside the controller, is gone.
const (
	ResourceGroupFinalizer   = "resource.bedplate.dev/resourcegroup"
	ManagedResourceFinalizer = "resource.bedplate.dev/managedresource"
)

// Conditions of ResourceGroup and ManagedResource. Each is True when its subject is as the spec wants it; otherwise its
// message names the object concerned and the remedy.
const (
	// ReadyCondition sums up all others.
	ReadyCondition = "Ready"

	// CentralReadyCondition of a ResourceGroup: its OVN central runs, and the DPUs may connect to it.
	CentralReadyCondition = "CentralReady"
	// TopologyReadyCondition of a ResourceGroup: the central has exactly the rows that group and members ask for.
	TopologyReadyCondition = "TopologyReady"
	// PropagatedCondition of a ResourceGroup: all DPUs of its members have the flows of the last change. It isn't a part of
	// Ready: one DPU that is away makes no network unready.
	PropagatedCondition = "Propagated"

	// AcceptedCondition of a ManagedResource: its group exists, and its addresses and its DPU fit in with the others'.
	AcceptedCondition = "Accepted"
	// AgentReadyCondition of a ManagedResource: the agent of its DPU answers, can be driven, and has a port for the host.
	AgentReadyCondition = "AgentReady"
	// AttachedCondition of a ManagedResource: the DPU has the host's port on the overlay. Where the host is to be isolated,
	// its reason says whether the DPU has confirmed that.
	AttachedCondition = "Attached"
	// PortUpCondition of a ManagedResource: OVN has bound the logical port on the DPU, and its flows are there.
	PortUpCondition = "PortUp"
	// PublicIPReadyCondition of a ManagedResource with PublicAccess: it has a PublicIP, which is announced.
	PublicIPReadyCondition = "PublicIPReady"
	// DHCPReadyCondition of a ManagedResource whose group has a DHCP server: its DPU relays to it.
	DHCPReadyCondition = "DHCPReady"
)
