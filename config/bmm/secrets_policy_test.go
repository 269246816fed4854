package bmm_test

import (
	"testing"

	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/testenv"
)

// The manager patches Secrets for a finalizer only, and RBAC can't say so.
func TestPolicy_letsTheManagerChangeNothingInASecretButItsFinalizer(t *testing.T) {
	t.Parallel()
	testenv.ExpectOnlyFinalizer(t, "rbac/secrets_policy.yaml", "system:serviceaccount:bedplate-bmm-system:bedplate-bmm-manager",
		cluster.SecretFinalizer)
	// Kustomize's namePrefix and nameSuffix change the service account's name, and not the policy's text.
	testenv.ExpectOnlyFinalizer(t, "rbac/secrets_policy.yaml", "system:serviceaccount:acme:acme-bedplate-bmm-manager-2",
		cluster.SecretFinalizer)
}
