package agent

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// A pass of the revalidators that has begun before a change isn't enough; and a call isn't repeated while it isn't answered.
func TestRevalidated_takesAWholePassAfterAllThatWasBefore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	socket := filepath.Join(t.TempDir(), "ctl")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	calls, answer := make(chan string, 9), make(chan struct{})
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			var request struct{ Method string }
			_ = json.NewDecoder(connection).Decode(&request)
			calls <- request.Method
			<-answer
			_, _ = connection.Write([]byte(`{"id":0,"result":null,"error":null}`))
			_ = connection.Close()
		}
	}()
	a := &Agent{options: Options{VswitchdCtl: socket}}
	ended := make(chan error, 1)
	go func() { ended <- a.revalidated(ctx) }()
	for _, call := range []string{"version", "revalidator/wait", "revalidator/wait"} {
		g.Eventually(calls, "1m").Should(Receive(Equal(call)))
		g.Consistently(calls, "200ms").ShouldNot(Receive())
		g.Expect(ended).NotTo(Receive())
		answer <- struct{}{}
	}
	g.Eventually(ended, "1m").Should(Receive(BeNil()))

	go func() { ended <- a.revalidated(ctx) }()
	g.Eventually(calls, "1m").Should(Receive(Equal("version")))
	cancel()
	g.Eventually(ended, "1m").Should(Receive(MatchError(context.Canceled)))
	close(answer)
}
