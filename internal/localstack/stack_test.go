package localstack_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

func TestStart_runsClusterAPIWithItsWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	began := time.Now()
	stack, err := localstack.Start(ctx, localstack.Config{
		Dir: t.TempDir(), Tools: toolstest.Find(t, controlplane.Tools...),
		Observe: func(s localstack.Step) { t.Logf("%5.1fs %+v", time.Since(began).Seconds(), s) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stack.Stop)

	invalid := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a.dot"}}
	invalid.Spec.Paused = new(true)
	t.Log(stack.Client().Create(ctx, invalid))

	g.Consistently(stack.Crashes()).WithTimeout(time.Second).ShouldNot(Receive())
	g.Expect(stack.Kill("capi-core")).To(Succeed())
	g.Expect(stack.Restart(ctx, "capi-core")).To(Succeed())
	g.Expect(stack.Kill("nobody")).To(MatchError(ContainSubstring(`no child "nobody"`)))
	g.Consistently(stack.Crashes()).WithTimeout(time.Second).ShouldNot(Receive())
}
