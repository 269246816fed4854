package preflight

import (
	"context"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
)

// clusterVersion is what OpenShift says of itself; nil where there is none.
func (l *look) clusterVersion(ctx context.Context) (*configv1.ClusterVersion, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configv1.GroupVersion.WithKind("ClusterVersion"))
	switch err := l.Get(ctx, client.ObjectKey{Name: "version"}, u); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read ClusterVersion version: %w", err)
	}
	version := &configv1.ClusterVersion{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, version); err != nil {
		return nil, fmt.Errorf("read ClusterVersion version: %w", err)
	}
	return version, nil
}

func has(version *configv1.ClusterVersion, condition configv1.ClusterStatusConditionType) bool {
	return slices.ContainsFunc(version.Status.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool {
		return c.Type == condition && c.Status == configv1.ConditionTrue
	})
}

func platform(ctx context.Context, l *look) ([]string, error) {
	version, err := l.clusterVersion(ctx)
	switch {
	case err != nil:
		return nil, err
	case version == nil:
		return []string{"ClusterVersion version doesn't exist"}, nil
	case !has(version, configv1.OperatorAvailable):
		return []string{"ClusterVersion version isn't Available"}, nil
	}
	return nil, nil
}

func clean(ctx context.Context, l *look) (problems []string, _ error) {
	version, err := l.clusterVersion(ctx)
	if err != nil || version == nil {
		return nil, err
	}
	for _, condition := range []configv1.ClusterStatusConditionType{"Failing", configv1.OperatorProgressing} {
		if has(version, condition) {
			problems = append(problems, fmt.Sprintf("ClusterVersion version is %s", condition))
		}
	}
	for _, o := range version.Spec.Overrides {
		if o.Unmanaged && (o.Namespace != networkOperator.Namespace || o.Name != networkOperator.Name) {
			problems = append(problems, fmt.Sprintf("ClusterVersion version has an override for %s %s/%s", o.Kind, o.Namespace, o.Name))
		}
	}
	return problems, nil
}

// kinds have to be served.
func kinds(all ...schema.GroupVersionKind) func(context.Context, *look) ([]string, error) {
	return func(_ context.Context, l *look) ([]string, error) { return l.missing(all...) }
}

// workload with these labels has an available replica: a Deployment, or where named a StatefulSet. It may be in any namespace, if that is "".
func (l *look) workload(ctx context.Context, namespace string, labels client.MatchingLabels, statefulSetToo bool) ([]string, error) {
	found, in := "", client.InNamespace(namespace)
	deployments := &appsv1.DeploymentList{}
	if err := l.List(ctx, deployments, in, labels, client.Limit(page)); err != nil {
		return nil, fmt.Errorf("list Deployments: %w", err)
	}
	for _, d := range deployments.Items {
		if d.Status.AvailableReplicas > 0 {
			return nil, nil
		}
		found = "Deployment " + client.ObjectKeyFromObject(&d).String()
	}
	if statefulSetToo {
		sets := &appsv1.StatefulSetList{}
		if err := l.List(ctx, sets, in, labels, client.Limit(page)); err != nil {
			return nil, fmt.Errorf("list StatefulSets: %w", err)
		}
		for _, s := range sets.Items {
			if s.Status.AvailableReplicas > 0 {
				return nil, nil
			}
			found = "StatefulSet " + client.ObjectKeyFromObject(&s).String()
		}
	}
	switch {
	case found == "" && namespace != "":
		return []string{fmt.Sprintf("there is no Deployment with %s in %s", selector(labels), namespace)}, nil
	case found == "":
		return []string{fmt.Sprintf("there is no Deployment with %s", selector(labels))}, nil
	}
	return []string{found + " has no available replica"}, nil
}

func selector(labels client.MatchingLabels) string {
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
}

// all problems that the checks have, up to the first error.
func all(checks ...func() ([]string, error)) (problems []string, _ error) {
	for _, check := range checks {
		more, err := check()
		problems = append(problems, more...)
		if err != nil {
			return problems, err
		}
	}
	return problems, nil
}

func argoCDPart(component string) client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/component": component}
}

// argoCD reads AppProjects and cluster Secrets in its own namespace only, which therefore has to be the operator's.
func argoCD(ctx context.Context, l *look) ([]string, error) {
	group := schema.GroupVersion{Group: "argoproj.io", Version: "v1alpha1"}
	return all(
		func() ([]string, error) {
			return l.missing(group.WithKind("Application"), group.WithKind("AppProject"))
		},
		func() ([]string, error) {
			return l.workload(ctx, operatorv1.Namespace, argoCDPart("repo-server"), false)
		},
		func() ([]string, error) {
			return l.workload(ctx, operatorv1.Namespace, argoCDPart("application-controller"), true)
		},
	)
}

func certManager(ctx context.Context, l *look) ([]string, error) {
	return all(
		func() ([]string, error) {
			return l.missing(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
		},
		func() ([]string, error) {
			return l.workload(ctx, "", client.MatchingLabels{
				"app.kubernetes.io/name": "cert-manager", "app.kubernetes.io/component": "controller"}, false)
		},
	)
}

func nfd(_ context.Context, l *look) ([]string, error) {
	openshift, err := l.missing(schema.GroupVersionKind{Group: "nfd.openshift.io", Version: "v1", Kind: "NodeFeatureDiscovery"})
	if err != nil || len(openshift) == 0 {
		return nil, err
	}
	upstream, err := l.missing(schema.GroupVersionKind{Group: "nfd.k8s-sigs.io", Version: "v1alpha1", Kind: "NodeFeature"})
	if err != nil || len(upstream) == 0 {
		return nil, err
	}
	return openshift, nil
}

func nmState(ctx context.Context, l *look) ([]string, error) {
	group := schema.GroupVersion{Group: "nmstate.io", Version: "v1"}
	problems, err := l.missing(group.WithKind("NodeNetworkConfigurationPolicy"), group.WithKind("NMState"))
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	instances := metadata(group.WithKind("NMState"))
	if err := l.List(ctx, instances, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("list NMStates: %w", err)
	}
	if len(instances.Items) == 0 {
		return []string{"there is no NMState"}, nil
	}
	return nil, nil
}

func volumes(ctx context.Context, l *look) ([]string, error) {
	for _, kind := range []schema.GroupVersionKind{
		storagev1.SchemeGroupVersion.WithKind("StorageClass"), corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
	} {
		found := metadata(kind)
		if err := l.List(ctx, found, client.Limit(2)); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for _, o := range found.Items {
			if o.Name != l.config.Spec.BFBPersistentVolume || kind.Kind == "StorageClass" {
				return nil, nil
			}
		}
	}
	return []string{"there is no StorageClass, and no PersistentVolume besides bfbPersistentVolume"}, nil
}

func bfbVolume(ctx context.Context, l *look) (problems []string, _ error) {
	name := l.config.Spec.BFBPersistentVolume
	volume := &corev1.PersistentVolume{}
	switch err := l.Get(ctx, client.ObjectKey{Name: name}, volume); {
	case apierrors.IsNotFound(err):
		return []string{fmt.Sprintf("PersistentVolume %s doesn't exist", name)}, nil
	case err != nil:
		return nil, fmt.Errorf("read PersistentVolume %s: %w", name, err)
	case volume.DeletionTimestamp != nil:
		problems = append(problems, fmt.Sprintf("PersistentVolume %s is being deleted", name))
	}
	for _, mode := range []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteOnce} {
		if !slices.Contains(volume.Spec.AccessModes, mode) {
			problems = append(problems, fmt.Sprintf("PersistentVolume %s doesn't have the access mode %s", name, mode))
		}
	}
	if claim := volume.Spec.ClaimRef; claim != nil && (claim.Namespace != operatorv1.Namespace || claim.Name != components.BFBClaim) {
		problems = append(problems, fmt.Sprintf("PersistentVolume %s belongs to the claim %s/%s", name, claim.Namespace, claim.Name))
	}
	if volume.Status.Phase == corev1.VolumeReleased || volume.Status.Phase == corev1.VolumeFailed {
		problems = append(problems, fmt.Sprintf("PersistentVolume %s is %s", name, volume.Status.Phase))
	}
	return problems, nil
}

// pullSecrets are read as metadata, so that no credentials get into memory; which have the type is the API server's answer.
func pullSecrets(ctx context.Context, l *look) (problems []string, _ error) {
	if len(l.config.Spec.ImagePullSecrets) == 0 {
		return nil, nil
	}
	usable := metadata(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := l.List(ctx, usable, client.InNamespace(operatorv1.Namespace),
		client.MatchingFields{"type": string(corev1.SecretTypeDockerConfigJson)})
	if err != nil {
		return nil, fmt.Errorf("list Secrets: %w", err)
	}
	for _, name := range l.config.Spec.ImagePullSecrets {
		if slices.ContainsFunc(usable.Items, func(s metav1.PartialObjectMetadata) bool { return s.Name == name && s.DeletionTimestamp == nil }) {
			continue
		}
		other := &metav1.PartialObjectMetadata{}
		other.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		switch err := l.Get(ctx, client.ObjectKey{Namespace: operatorv1.Namespace, Name: name}, other); {
		case apierrors.IsNotFound(err):
			problems = append(problems, fmt.Sprintf("Secret %s/%s doesn't exist", operatorv1.Namespace, name))
		case err != nil:
			return problems, fmt.Errorf("read Secret %s: %w", name, err)
		case other.DeletionTimestamp != nil:
			problems = append(problems, fmt.Sprintf("Secret %s/%s is being deleted", operatorv1.Namespace, name))
		default:
			problems = append(problems, fmt.Sprintf("Secret %s/%s hasn't the type kubernetes.io/dockerconfigjson", operatorv1.Namespace, name))
		}
	}
	return problems, nil
}

// admission is what OLM doesn't install.
func admission(ctx context.Context, l *look) (problems []string, _ error) {
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		for _, name := range []string{"bedplate-dpf-services", "bedplate-dpf-services-end"} {
			o := &metav1.PartialObjectMetadata{}
			o.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
			switch err := l.Get(ctx, client.ObjectKey{Name: name}, o); {
			case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
				problems = append(problems, fmt.Sprintf("%s %s doesn't exist", kind, name))
			case err != nil:
				return problems, fmt.Errorf("read %s %s: %w", kind, name, err)
			}
		}
	}
	return problems, nil
}
