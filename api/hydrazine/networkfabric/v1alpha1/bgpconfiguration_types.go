package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// BGPConfigurationSpec configures the BGP speakers and their neighbors.
type BGPConfigurationSpec struct {
	// asn is the speakers' autonomous system.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967294
	ASN int64 `json:"asn,omitempty"`

	// neighbors are the devices of the fabric that each speaker has a session with.
	// +optional
	// +listType=map
	// +listMapKey=address
	// +kubebuilder:validation:MaxItems=32
	Neighbors []BGPNeighbor `json:"neighbors,omitempty"`

	// restartTime is how long neighbors keep what a speaker has announced that is
	// being restarted (RFC 4724). A public IP of which a dead speaker may have told
	// is free again after this and the hold time.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="choose a time from 1s to 1h"
	RestartTime *metav1.Duration `json:"restartTime,omitempty"`
}

// BGPNeighbor is a device of the fabric that speaks BGP.
type BGPNeighbor struct {
	// address of the device.
	// +required
	Address resourcev1.IPAddress `json:"address,omitempty"`

	// asn is its autonomous system.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967294
	ASN int64 `json:"asn,omitempty"`

	// port that it listens on.
	// +optional
	// +kubebuilder:default=179
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// holdTime is how long a session lasts without a message from the device.
	// +optional
	// +kubebuilder:default="90s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('3s') && duration(self) <= duration('1h')",message="choose a time from 3s to 1h"
	HoldTime *metav1.Duration `json:"holdTime,omitempty"`

	// hops is how many hops away a neighbor of another autonomous system may be.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=255
	Hops int32 `json:"hops,omitempty"`

	// ttlSecurity drops what comes from further away than hops (GTSM, RFC 5082). The
	// device has to do the same, or there is no session.
	// +optional
	TTLSecurity bool `json:"ttlSecurity,omitempty"`

	// maxPrefixes of each IP version is how many the device may announce. A speaker
	// uses none of them: with more it ends the session, and tries again after 5
	// minutes.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxPrefixes int32 `json:"maxPrefixes,omitempty"`

	// passwordSecret is the name of a Secret in the speakers' namespace, whose key
	// "password" signs the session's segments (RFC 2385).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PasswordSecret string `json:"passwordSecret,omitempty"`
}

// BGPConfigurationStatus says how the sessions are.
type BGPConfigurationStatus struct {
	// speakers are those that have this configuration. Each writes about itself.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Speakers []BGPSpeaker `json:"speakers,omitempty"`
}

// BGPSpeaker is a process that announces public IPs.
type BGPSpeaker struct {
	// name of the speaker: its pod's, or its machine's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// routerID of the speaker.
	// +optional
	RouterID resourcev1.IPAddress `json:"routerID,omitempty"`

	// addresses of the speaker's node, or machine. No host reaches them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Addresses []resourcev1.IPAddress `json:"addresses,omitempty"`

	// announced is the number of public IPs that it announces.
	// +optional
	Announced int32 `json:"announced,omitempty"`

	// sessions of the speaker, one for each neighbor.
	// +optional
	// +listType=map
	// +listMapKey=neighbor
	// +kubebuilder:validation:MaxItems=32
	Sessions []BGPSession `json:"sessions,omitempty"`
}

// BGPSession is the state of the session with a neighbor.
type BGPSession struct {
	// neighbor is its address.
	// +required
	Neighbor resourcev1.IPAddress `json:"neighbor,omitempty"`

	// state of the session, as RFC 4271 calls it.
	// +optional
	// +kubebuilder:validation:Enum=Idle;Connect;Active;OpenSent;OpenConfirm;Established
	State string `json:"state,omitempty"`

	// since is when the session entered this state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// message says why it isn't established, and what helps.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// BGPConfiguration configures the BGP speakers and their neighbors, and shows their sessions.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=bedplate
// +kubebuilder:printcolumn:name="ASN",type=integer,JSONPath=`.spec.asn`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BGPConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec configures the speakers and their neighbors.
	// +required
	Spec BGPConfigurationSpec `json:"spec,omitempty"`

	// status shows the speakers and their sessions.
	// +optional
	Status BGPConfigurationStatus `json:"status,omitempty"`
}

// BGPConfigurationList is a list of BGPConfigurations.
//
// +kubebuilder:object:root=true
type BGPConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BGPConfiguration `json:"items"`
}
