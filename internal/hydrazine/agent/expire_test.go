package agent

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

func TestLock_isHadByOne(t *testing.T) {
	t.Parallel()
	g, options := NewWithT(t), Options{StateDir: t.TempDir()}
	unlock, err := Lock(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Expire(t.Context(), options)).To(Succeed(), "without a look at the options, which are wrong")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Lock(ctx, options)
	g.Expect(err).To(MatchError(errLocked))

	waited := make(chan error)
	go func() {
		_, err := Lock(t.Context(), options)
		waited <- err
	}()
	unlock()
	g.Eventually(waited, "1m").Should(Receive(BeNil()))
}
