package proxy

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managedBy is in the label of namespaces that the proxy has made.
const managedBy = "bedplate-hydrazine-proxy"

// noNamespace reports whether a create has failed because its namespace isn't there.
func noNamespace(err error) bool {
	answer := apierrors.APIStatus(nil)
	return apierrors.IsNotFound(err) && errors.As(err, &answer) && answer.Status().Details != nil &&
		answer.Status().Details.Kind == "namespaces"
}

// makeNamespace of a tenant. No Pods are expected there, so what comes is held to the strictest standard.
func (b *backend) makeNamespace(ctx context.Context, name string) error {
	if !b.createNamespaces {
		return failure{code: codes.FailedPrecondition, reason: "NO_NAMESPACE",
			message: "the tenant has no namespace yet: ask the operator for it"}.error()
	}
	err := b.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"app.kubernetes.io/managed-by":       managedBy,
		"pod-security.kubernetes.io/enforce": "restricted",
	}}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return translate(ctx, err, "the tenant's namespace", func(path string) string { return path })
	}
	return nil
}
