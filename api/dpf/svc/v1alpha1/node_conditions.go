package v1alpha1

// Conditions that the agent of a node's DPU reports. Ready says in addition that Open vSwitch works with it.
const (
	// ServiceInterfaceReconciledCondition: the interface is a port of the bridge.
	ServiceInterfaceReconciledCondition = "ServiceInterfaceReconciled"
	// ServiceChainReconciledCondition: each port of each switch is one interface of the node, which is in no other switch.
	ServiceChainReconciledCondition = "ServiceChainReconciled"
)
