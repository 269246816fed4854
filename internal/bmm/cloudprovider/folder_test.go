package cloudprovider

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/fault"
)

// mounted is a folder, and reads it.
func mounted(t *testing.T, files map[string]string) (path string, read func() (map[string][]byte, error)) {
	path = filepath.Join(t.TempDir(), "credentials")
	cloudtest.Mount(t, path, files)
	return path, func() (map[string][]byte, error) {
		secret := &corev1.Secret{}
		err := folder{}.Get(t.Context(), client.ObjectKey{Namespace: filepath.Dir(path), Name: filepath.Base(path)}, secret)
		return secret.Data, err
	}
}

// What can't be read requires manual intervention: that is no outage of the API.
func TestFolder_thatCantBeReadIsARefusedLogin(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{"a loop": "token", "a link to nothing": "nothing"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			path, read := mounted(t, map[string]string{"endpoint": "https://bmm"})
			g.Expect(os.Symlink(broken, filepath.Join(path, "..data", "token"))).To(Succeed())
			_, err := read()
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials), "%v", err)
			g.Expect(err).To(MatchError(HavePrefix("read the login: ")))
		})
	}
}

func TestFolder_thatIsMissingIsAMissingSecret(t *testing.T) {
	t.Parallel()
	path, read := mounted(t, nil)
	g := NewWithT(t)
	g.Expect(os.RemoveAll(path)).To(Succeed())
	_, err := read()
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
}

// The kubelet removes the old files while they are read.
func TestFolder_thatChangesWhileItIsReadIsReadAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path, read := mounted(t, map[string]string{"token": "old"})
	slow := filepath.Join(path, "..data", "endpoint") // read before the token, and blocks until it is written
	g.Expect(syscall.Mkfifo(slow, 0o600)).To(Succeed())
	type answer struct {
		data map[string][]byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() { data, err := read(); answers <- answer{data, err} }()
	pipe, err := os.OpenFile(slow, os.O_WRONLY, 0) // opens when it is read
	g.Expect(err).NotTo(HaveOccurred())
	cloudtest.Mount(t, path, map[string]string{"token": "new", "endpoint": "https://bmm"})
	g.Expect(pipe.Close()).To(Succeed())
	got := <-answers
	g.Expect(got.err).NotTo(HaveOccurred())
	g.Expect(got.data).To(Equal(map[string][]byte{"token": []byte("new"), "endpoint": []byte("https://bmm")}))
}
