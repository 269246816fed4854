package kubeadm

import (
	"crypto"
	"fmt"

	"k8s.io/client-go/util/keyutil"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

// checkServiceAccountKey fails unless both halves of the key that signs service account tokens are there and match.
func checkServiceAccountKey(dir pki.Dir) error {
	private, err := keyutil.PrivateKeyFromFile(dir.ServiceAccountKey())
	if err != nil {
		return fmt.Errorf("read the service account key: %w", err)
	}
	public, err := keyutil.PublicKeysFromFile(dir.ServiceAccountPub())
	if err != nil {
		return fmt.Errorf("read the service account key: %w", err)
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return fmt.Errorf("service account key of type %T can't sign", private)
	}
	half, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !half.Equal(public[0]) {
		return fmt.Errorf("the service account key's sa.pub and sa.key don't belong together")
	}
	return nil
}
