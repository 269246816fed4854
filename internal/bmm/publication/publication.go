// Package publication is what a management cluster publishes of its instances to a workload cluster: ConfigMaps in the
// workload cluster, one for each instance and one for their site. So the workload cluster needs no login of the BMM API's,
// and none of the management cluster's.
//
// Only a ConfigMap says that an instance doesn't exist any more, never the absence of one.
package publication

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/topology"
)

const (
	// Namespace of the ConfigMaps in the workload cluster. It has nothing else, so that a Role can be limited to them.
	Namespace = "bmm-instances"
	// SiteName is the ConfigMap about the site. That about an instance has the instance's ID as its name.
	SiteName = "site"
	// Selector finds the ConfigMaps, beside the one that Kubernetes puts into each namespace.
	Selector = managedBy + "=" + Manager
	// Manager is their writer.
	Manager = "bedplate-bmm-manager"

	// InstanceKey of a ConfigMap is what it says of an instance.
	InstanceKey = "instance"

	managedBy = "app.kubernetes.io/managed-by"
	siteKey   = "site"
)

// Site that the instances are at.
type Site struct {
	ID     string `json:"id"`
	Zone   string `json:"zone,omitempty"`
	Region string `json:"region,omitempty"`
	// Complete is when every instance of the cluster was last seen as it is published; zero if never.
	Complete metav1.Time `json:"complete,omitzero"`
}

// Instance as it is published for its Node.
type Instance struct {
	ID           string   `json:"id"`
	SiteID       string   `json:"siteID"`
	Name         string   `json:"name"`
	Status       string   `json:"status,omitempty"`
	InstanceType string   `json:"instanceType,omitempty"`
	MachineID    string   `json:"machineID,omitempty"`
	NVLinkDomain string   `json:"nvLinkDomain,omitempty"`
	Addresses    []string `json:"addresses,omitempty"`
	// Gone is true if it is proven that the instance doesn't exist any more.
	Gone bool `json:"gone,omitempty"`
	// Seen is when it was first seen in this state.
	Seen metav1.Time `json:"seen"`
}

// Of an instance and the name of its type.
func Of(i *bmm.Instance, instanceType string) Instance {
	published := Instance{
		ID: i.ID, SiteID: i.SiteID, Name: i.Name, Status: string(i.Status), InstanceType: instanceType,
		MachineID: i.MachineID, NVLinkDomain: topology.NVLinkDomain(i),
	}
	for _, n := range i.Interfaces {
		published.Addresses = append(published.Addresses, n.IPAddresses...)
	}
	return published
}

// BMM is the instance in the BMM API's form, as far as it was published.
func (i Instance) BMM() *bmm.Instance {
	instance := &bmm.Instance{
		ID: i.ID, SiteID: i.SiteID, Name: i.Name, Status: bmm.InstanceStatus(i.Status), MachineID: i.MachineID,
	}
	if len(i.Addresses) > 0 {
		instance.Interfaces = []bmm.Interface{{IPAddresses: i.Addresses}}
	}
	if i.NVLinkDomain != "" {
		instance.NVLinkInterfaces = []bmm.NVLinkInterface{{NVLinkDomainID: i.NVLinkDomain}}
	}
	return instance
}

// ConfigMap of the site.
func (s Site) ConfigMap() (*corev1.ConfigMap, error) { return configMap(SiteName, siteKey, s) }

// ConfigMap of the instance.
func (i Instance) ConfigMap() (*corev1.ConfigMap, error) { return configMap(i.ID, InstanceKey, i) }

func configMap(name, key string, value any) (*corev1.ConfigMap, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write ConfigMap %s: %w", name, err)
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: name, Labels: map[string]string{managedBy: Manager},
		},
		Data: map[string]string{key: string(text)},
	}, nil
}

// ReadSite reads the ConfigMap of a site.
func ReadSite(from *corev1.ConfigMap) (s Site, err error) {
	if err := read(from, siteKey, &s); err != nil {
		return Site{}, err
	}
	return s, nil
}

// ReadInstance reads the ConfigMap of an instance.
func ReadInstance(from *corev1.ConfigMap) (i Instance, err error) {
	if err := read(from, InstanceKey, &i); err != nil {
		return Instance{}, err
	}
	if i.ID != from.Name {
		return Instance{}, fmt.Errorf("ConfigMap %s/%s is about instance %q, and not about the one of its name", from.Namespace, from.Name, i.ID)
	}
	return i, nil
}

func read(from *corev1.ConfigMap, key string, into any) error {
	if err := json.Unmarshal([]byte(from.Data[key]), into); err != nil {
		return fmt.Errorf("read the key %s of ConfigMap %s/%s: %w", key, from.Namespace, from.Name, err)
	}
	return nil
}
