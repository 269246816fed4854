package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
)

type telling struct {
	central.Runtime
	news chan string
}

func (t telling) Died() <-chan string { return t.news }

// A runtime on Kubernetes tells what labels say, which anybody may write.
func TestStart_takesOnlyNamesOfCentrals(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	runtime := telling{news: make(chan string)}
	n := newNetworks(ctx, runtime)
	ended := make(chan error, 1)
	go func() { ended <- n.Start(ctx) }()
	for _, name := range []string{"", "ov", "red", service("blue")} {
		g.Eventually(runtime.news).Should(BeSent(name))
	}
	g.Eventually(n.groups).Should(Receive(Equal(event.TypedGenericEvent[types.UID]{Object: "blue"})))
	cancel()
	g.Eventually(ended).Should(Receive(BeNil()))
}
