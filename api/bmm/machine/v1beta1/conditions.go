package v1beta1

import infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"

// Conditions of an NvidiaBMMMachineProviderStatus. Each is True when its subject is as the spec wants it; otherwise its
// message names the object concerned and the remedy.
const (
	// ReadyCondition sums up all others.
	ReadyCondition = infrav1.ReadyCondition
	// ReferencesResolvedCondition: the credentials, the site, the VPC and its networks exist and can be used.
	ReferencesResolvedCondition = infrav1.ReferencesResolvedCondition
	// UserDataReadyCondition: the Secret with the user data exists and can be used.
	UserDataReadyCondition = "UserDataReady"
	// InstanceProvisionedCondition: the instance exists and runs.
	InstanceProvisionedCondition = infrav1.InstanceProvisionedCondition
	// NetworkConfiguredCondition: every network interface has its address.
	NetworkConfiguredCondition = infrav1.NetworkConfiguredCondition
)

// SecretFinalizer keeps a credentials Secret as long as a Machine needs it.
const SecretFinalizer = "bedplate.dev/in-use-by-openshift-machine" //nolint:gosec // a name, not a credential
