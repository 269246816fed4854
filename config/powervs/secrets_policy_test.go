package powervs_test

import (
	"testing"

	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/testenv"
)

// The manager patches Secrets for a finalizer only, and RBAC can't say so.
func TestPolicy_letsTheManagerChangeNothingInASecretButItsFinalizer(t *testing.T) {
	t.Parallel()
	testenv.ExpectOnlyFinalizer(t, "rbac/secrets_policy.yaml", "system:serviceaccount:bedplate-powervs-system:bedplate-powervs-manager",
		cluster.SecretFinalizer)
	// Kustomize's namePrefix and nameSuffix change the service account's name, and not the policy's text.
	testenv.ExpectOnlyFinalizer(t, "rbac/secrets_policy.yaml", "system:serviceaccount:acme:acme-bedplate-powervs-manager-2",
		cluster.SecretFinalizer)
}
