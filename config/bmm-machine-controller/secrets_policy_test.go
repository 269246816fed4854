package bmmmachinecontroller_test

import (
	"testing"

	machinev1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// The controller patches Secrets for a finalizer only, and RBAC can't say so.
func TestPolicy_letsTheControllerChangeNothingInASecretButItsFinalizer(t *testing.T) {
	t.Parallel()
	testenv.ExpectOnlyFinalizer(t, "rbac/secrets_policy.yaml",
		"system:serviceaccount:openshift-machine-api:bedplate-bmm-machine-controller", machinev1.SecretFinalizer)
	testenv.ExpectOnlyFinalizer(t, "rbac/secrets_policy.yaml",
		"system:serviceaccount:openshift-machine-api:acme-bedplate-bmm-machine-controller-2", machinev1.SecretFinalizer)
}
