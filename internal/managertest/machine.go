package managertest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// infrastructureGroup is the API group of Cluster API's infrastructure providers.
const infrastructureGroup = "infrastructure.cluster.x-k8s.io"

// CreateOwner creates the Machine of an infrastructure machine of a kind, after own has changed it, and returns the metadata of that one.
// Without user data, its bootstrap provider isn't ready yet.
func (f *Fixture) CreateOwner(own func(*clusterv1.Machine), cluster, name, kind string, userData []byte) metav1.ObjectMeta {
	f.t.Helper()
	owner := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
		Spec: clusterv1.MachineSpec{
			ClusterName:       cluster,
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To(name + "-bootstrap")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrastructureGroup, Kind: kind, Name: name},
		},
	}
	if userData == nil {
		owner.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: name,
		}}
	} else {
		f.CreateBootstrapData(name, "cloud-config", userData)
	}
	own(owner)
	f.Create(owner)
	return metav1.ObjectMeta{
		Name: name, Namespace: f.Namespace, Labels: owner.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Machine"))},
	}
}

// CreateBootstrapData makes the Secret of a machine, in a format of bootstrap providers.
func (f *Fixture) CreateBootstrapData(machine, format string, data []byte) {
	f.t.Helper()
	f.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: machine + "-bootstrap", Namespace: f.Namespace},
		Data:       map[string][]byte{"value": data, "format": []byte(format)},
	})
}
