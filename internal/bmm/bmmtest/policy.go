package bmmtest

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ForbidFinalizer has an admission policy refuse finalizers on Secrets of the namespace, until it is lifted. It returns when
// the API server enforces it.
func (f *Fixture) ForbidFinalizer(finalizer string) (lift func()) {
	f.t.Helper()
	has := func(object string) string {
		return fmt.Sprintf("(has(%s.metadata.finalizers) && %q in %[1]s.metadata.finalizers)", object, finalizer)
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-finalizers-" + f.Namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.Namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: "!" + has("object") + " || " + has("oldObject"), Message: "no finalizers on Secrets",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	f.Create(policy)
	f.Create(binding)
	probe := f.Secret("probe")
	f.Create(probe)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": []string{finalizer}}})
	f.Expect(err).NotTo(HaveOccurred())
	f.Eventually(func() bool {
		err := f.Client.Patch(f.t.Context(), probe.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
		return apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
	}).Should(BeTrue())
	return func() { f.Delete(binding); f.Delete(policy) }
}
