package creates

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// What was attempted before this process led was attempted by another one, whose clock may differ.
func TestPool_leadsSinceItWasStarted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := &Pool{}
	g.Expect(pool.Leads()).To(BeZero())
	go func() { _ = pool.Start(t.Context()) }()
	g.Eventually(pool.Leads).Should(BeTemporally("~", time.Now(), time.Minute))
}
