package operator

// What the operator is for. The last line binds roles of the components: of these names only, and it can't change them.
//
// +kubebuilder:rbac:groups=operator.dpu.nvidia.com,resources=dpfoperatorconfigs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=operator.dpu.nvidia.com,resources=dpfoperatorconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=configmaps;persistentvolumeclaims;serviceaccounts;services,verbs=get;list;create;patch;delete,namespace=dpf-operator-system
// +kubebuilder:rbac:groups=apps,resources=daemonsets;deployments,verbs=get;list;watch;create;patch;delete,namespace=dpf-operator-system
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch,namespace=dpf-operator-system
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuservices,verbs=get;list;watch;create;patch;delete,namespace=dpf-operator-system
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates;issuers,verbs=get;list;create;patch;delete,namespace=dpf-operator-system
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=get;list;create;patch;delete,namespace=dpf-operator-system
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=bind,resourceNames=dpf-dpuservice-manager;dpf-provisioning-controller;dpf-servicefunctionchain-manager,namespace=dpf-operator-system
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterrolebindings,verbs=list;create
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterrolebindings,verbs=get;patch;delete,resourceNames=dpf-dpuservice-controller;dpf-provisioning-controller;dpf-servicefunctionchain-controller
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=bind,resourceNames=dpf-dpuservice-manager;dpf-hostnetworkprovisioner;dpf-provisioning-controller;dpf-servicefunctionchain-manager

// Pull secrets get a label, and nothing else of them is read. Kubeconfigs of DPU clusters are in any namespace, so that reading Secrets
// can't be limited to one.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=patch,namespace=dpf-operator-system

// A deletion waits for what users have of these.
//
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuservices;dpuservicechains;dpuserviceinterfaces;dpuserviceipams,verbs=list

// What the prerequisites are looked for by.
//
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=list
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get,resourceNames=cluster-config-v1
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;list
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=list
// +kubebuilder:rbac:groups=kamaji.clastix.io,resources=tenantcontrolplanes,verbs=list
// +kubebuilder:rbac:groups=nmstate.io,resources=nmstates,verbs=list

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,verbs=get,resourceNames=bedplate-dpf-services;bedplate-dpf-services-end

// A deletion waits for DPU clusters in which Argo CD has deployed something.
//
// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=list,namespace=dpf-operator-system

// bfbPersistentVolume is released when its claim is gone. Its name is in the spec.
//
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=patch

// What moving the network takes, and the way back: the network operator's entry in the overrides of ClusterVersion, its replicas, its
// webhook, the affinity of ovnkube-node and its copies, the journal, and labels, taints and an annotation of nodes. A create can't be
// limited to a name.
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusterversions,verbs=list;watch
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusterversions,verbs=get;patch,resourceNames=version
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch,namespace=openshift-network-operator
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=patch,resourceNames=network-operator,namespace=openshift-network-operator
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,verbs=create
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,verbs=get;list;watch;delete,resourceNames=network-node-identity.openshift.io
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;delete,namespace=openshift-ovn-kubernetes
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch,namespace=openshift-ovn-kubernetes
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get;list;watch;create,namespace=openshift-ovn-kubernetes
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=update;patch;delete,resourceNames=ovnkube-node;ovnkube-node-dpf,namespace=openshift-ovn-kubernetes
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch
