package dpuservice

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/naming"
)

// Argo CD's kinds. Its module has dozens of replacements, so that its objects are handled unstructured.
var (
	ApplicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
	ProjectKind     = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "AppProject"}
)

// Names in Argo CD.
const (
	// ProjectDPU has the Applications of the operator's own DPUServices in DPU clusters. Those of other namespaces have their own.
	ProjectDPU = "doca-platform-project-dpu"
	// ProjectHost has those in the host cluster.
	ProjectHost = "doca-platform-project-host"
	// CascadeFinalizer lets Argo CD delete what an Application has deployed, before the Application goes.
	CascadeFinalizer = "resources-finalizer.argocd.argoproj.io"
	// SkipAnnotation has Argo CD leave an Application as it is.
	SkipAnnotation = "argocd.argoproj.io/skip-reconcile"
	// SecretTypeLabel tells Argo CD what a Secret is.
	SecretTypeLabel   = "argocd.argoproj.io/secret-type" //nolint:gosec // the name of a label
	secretTypeCluster = "cluster"

	// uidLabel of an Application is the UID of its DPUService.
	uidLabel = "svc.dpu.nvidia.com/dpuservice-uid"
	// serviceAnnotation names the DPUService, and clusterAnnotation the DPU cluster, as namespace/name.
	serviceAnnotation, clusterAnnotation = "svc.dpu.nvidia.com/dpuservice", "svc.dpu.nvidia.com/dpu-cluster"
	// deployedAnnotation of an Application says that something of it is, or may be, in its cluster. Argo CD's status says so only as long as
	// the cluster answers.
	deployedAnnotation = "svc.dpu.nvidia.com/deployed"
	// managedLabel is on what is shared by all DPUServices.
	managedLabel, managed = "svc.dpu.nvidia.com/managed-by", "dpuservice-controller"

	hostServer = "https://kubernetes.default.svc"
	inCluster  = "in-cluster"
)

// host is the target that stands for the host cluster. A DPU cluster has a namespace.
var host = types.NamespacedName{Name: inCluster}

// clusterSecretName of a DPU cluster, which is also its name in Argo CD.
func clusterSecretName(cluster types.NamespacedName) string {
	return naming.Unique(naming.Label, cluster.Namespace+"-"+cluster.Name, cluster.Namespace, cluster.Name)
}

// applicationName is the value of a label, too. That it has the namespaces in its hash keeps two DPUServices of one name apart.
func applicationName(cluster types.NamespacedName, service *svcv1.DPUService) string {
	return naming.Unique(naming.Label, cluster.Name+"-"+service.Name, cluster.Namespace, cluster.Name, service.Namespace, service.Name)
}

// application of a service in one cluster. Values aren't shared with anything.
func (c Config) application(service *svcv1.DPUService, cluster types.NamespacedName, values map[string]any) *unstructured.Unstructured {
	source := service.Spec.HelmChart.Source
	helm := map[string]any{"releaseName": source.ReleaseName, "valuesObject": values}
	if source.ReleaseName == "" {
		helm["releaseName"] = releaseName(service.Name)
	}
	from := map[string]any{"repoURL": source.RepoURL, "targetRevision": source.Version, "helm": helm}
	if source.Chart != "" {
		from["chart"] = source.Chart
		from["repoURL"] = strings.TrimPrefix(source.RepoURL, "oci://") // Argo CD finds a registry by the chart
	} else {
		from["path"] = source.Path
	}
	sync := map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}}
	if service.Namespace == c.Namespace { // Argo CD needs the right to all Namespaces for that
		sync["syncOptions"] = []any{"CreateNamespace=true"}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"project": c.projectName(service.Namespace, cluster), "source": from, "destination": destination(cluster, service.Namespace),
		"syncPolicy": sync, "revisionHistoryLimit": int64(0), // each entry has all values
	}}}
	o.SetGroupVersionKind(ApplicationKind)
	o.SetNamespace(c.Namespace)
	o.SetName(applicationName(cluster, service))
	o.SetLabels(map[string]string{uidLabel: string(service.UID)})
	o.SetAnnotations(map[string]string{serviceAnnotation: keyOf(service), clusterAnnotation: cluster.String()})
	o.SetFinalizers([]string{CascadeFinalizer})
	return o
}

// releaseName of a service. Two that are cut to one name would be one release, in the same namespace.
func releaseName(service string) string {
	if len(service) <= naming.Release {
		return service
	}
	return naming.Unique(naming.Release, service, service)
}

func keyOf(o metav1.Object) string {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}.String()
}

// clusterSecret is how Argo CD gets to know a DPU cluster.
func clusterSecret(namespace string, cluster types.NamespacedName, access *rest.Config) (*corev1.Secret, error) {
	type tls struct {
		ServerName string `json:"serverName,omitempty"`
		CAData     []byte `json:"caData,omitempty"`
		CertData   []byte `json:"certData,omitempty"`
		KeyData    []byte `json:"keyData,omitempty"`
	}
	config, err := json.Marshal(struct { //nolint:gosec // it goes into a Secret
		Username    string `json:"username,omitempty"`
		Password    string `json:"password,omitempty"`
		BearerToken string `json:"bearerToken,omitempty"`
		TLS         tls    `json:"tlsClientConfig"`
	}{
		access.Username, access.Password, access.BearerToken,
		tls{access.ServerName, access.CAData, access.CertData, access.KeyData},
	})
	if err != nil {
		return nil, fmt.Errorf("write the access to DPU cluster %s for Argo CD: %w", cluster, err)
	}
	name := clusterSecretName(cluster)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: map[string]string{clusterAnnotation: cluster.String()},
			Labels: map[string]string{SecretTypeLabel: secretTypeCluster, managedLabel: managed},
		},
		Data: map[string][]byte{"name": []byte(name), "server": []byte(access.Host), "config": config},
	}, nil
}

// problemOf an Application; "" where Argo CD has synced it as it is now, and it is healthy.
func problemOf(o *unstructured.Unstructured) string {
	name := "Application " + o.GetName() + ": "
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(o.Object, fields...)
		return value
	}
	sync, health := text("status", "sync", "status"), text("status", "health", "status")
	switch {
	case o.GetDeletionTimestamp() != nil:
		return name + "it is being deleted"
	case !compared(o):
		return name + "Argo CD hasn't compared it with its spec yet" + said(o)
	case sync != "Synced":
		return name + "it isn't synced" + said(o)
	case health != "Healthy":
		return strings.TrimSuffix(name+"its health is "+orUnknown(health)+": "+text("status", "health", "message"), ": ")
	}
	return ""
}

func orUnknown(word string) string {
	if word == "" {
		return "unknown"
	}
	return word
}

// said is what Argo CD says of an Application that isn't synced.
func said(o *unstructured.Unstructured) string {
	var all []string
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, is := c.(map[string]any); is {
			message, _, _ := unstructured.NestedString(fields, "message")
			all = append(all, message)
		}
	}
	message, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "message")
	all = append(append(all, message), refusals(o)...)
	all = slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// refusals of the last sync, with the objects: its own message doesn't have them where an object isn't permitted.
func refusals(o *unstructured.Unstructured) (reasons []string) {
	const shown = 3
	results, _, _ := unstructured.NestedSlice(o.Object, "status", "operationState", "syncResult", "resources")
	for _, r := range results {
		fields, _ := r.(map[string]any)
		if message, _ := fields["message"].(string); fields["status"] == "SyncFailed" && message != "" {
			reasons = append(reasons, fmt.Sprintf("%v %v: %s", fields["kind"], fields["name"], message))
		}
	}
	if more := len(reasons) - shown; more > 0 {
		reasons = append(reasons[:shown], fmt.Sprintf("and %d more", more))
	}
	return reasons
}
