package operator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
)

var controllerName = client.ObjectKey{Namespace: namespace, Name: "dpf-dpuservice-controller"}

func (f *fixture) reader() client.Client {
	return interceptor.NewClient(f.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			f.reads++
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			f.reads++
			return c.List(ctx, list, opts...)
		},
	})
}

// scale a component, as others do.
func (f *fixture) scale(replicas int32) {
	f.t.Helper()
	deployment := &appsv1.Deployment{}
	f.Expect(f.WithWatch.Get(f.t.Context(), controllerName, deployment)).To(Succeed())
	deployment.Spec.Replicas = ptr.To(replicas)
	f.Expect(f.WithWatch.Update(f.t.Context(), deployment)).To(Succeed())
}

func (f *fixture) replicas() int32 {
	f.t.Helper()
	deployment := &appsv1.Deployment{}
	f.Expect(f.WithWatch.Get(f.t.Context(), controllerName, deployment)).To(Succeed())
	return *deployment.Spec.Replicas
}

// A move has many steps: in each, components are looked at only if they have changed.
func TestReconcile_asksForNoComponentsInEachStepOfTheMove(t *testing.T) {
	f := newFixture(t)
	f.create()
	for f.network.moved == 0 {
		f.reads = 0
		f.Expect(f.once()).To(Succeed())
	}
	all := f.reads
	f.reads = 0
	for moved := 1; moved < 3; moved++ {
		f.Expect(f.network.moved).To(Equal(moved))
		f.Expect(f.once()).To(Succeed())
	}
	f.Expect(f.reads).To(BeZero(), "but for the journal, which is the network's")
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(success)

	was := f.replicas()
	f.scale(was + 3)
	f.Changed.Store(true) // as the watch does
	f.Expect(f.once()).To(Succeed())
	f.Expect(f.reads).To(BeNumerically(">", 0))
	f.Expect(f.replicas()).To(Equal(was))
	t.Logf("%d calls for a look at all components", all)
}

// A prerequisite that goes missing holds up what is new, and not the repair of what is there.
func TestReconcile_repairsWhatIsDeployedWithoutItsPrerequisites(t *testing.T) {
	f := newFixture(t)
	config := f.create()
	f.settle()
	was := f.replicas()
	f.missing = preflight.Report{{Prerequisite: preflight.Prerequisite{Name: "Kamaji"}, Problems: []string{"gone"}}}
	f.start()
	f.scale(was + 3)
	f.Expect(f.WithWatch.Delete(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "dpf-servicefunctionchain-controller"}})).To(Succeed())
	objects := f.objects()
	f.settle()
	f.Expect(f.replicas()).To(Equal(was))
	f.Expect(f.objects()).To(Equal(objects), "nothing is deployed")
	f.Expect(f.condition(operatorv1.SystemComponentsReconciledCondition)).To(pending("it waits for the prerequisites"))

	// Another spec waits, too.
	f.Expect(f.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(config), config)).To(Succeed())
	config.Spec.ImageOverrides = map[string]operatorv1.Image{"dpuservice": "localhost:5000/my-image"}
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	f.settle()
	deployment := &appsv1.Deployment{}
	f.Expect(f.WithWatch.Get(t.Context(), controllerName, deployment)).To(Succeed())
	f.Expect(deployment.Spec.Template.Spec.Containers[0].Image).NotTo(HavePrefix("localhost:5000"))
	f.missing = nil
	f.start()
	f.settle()
	f.Expect(f.WithWatch.Get(t.Context(), controllerName, deployment)).To(Succeed())
	f.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(HavePrefix("localhost:5000"))
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(success)
}

// many are the nodes of a big cluster.
type many struct {
	*network
	nodes []operatorv1.NodeStatus
}

func (m many) Reconcile(ctx context.Context, c *operatorv1.DPFOperatorConfig, awake time.Time) (hostnetwork.Result, error) {
	r, err := m.network.Reconcile(ctx, c, awake)
	r.Nodes = slices.Clone(m.nodes)
	return r, err
}

// Each node has an entry in the status. A step of one writes that one.
func TestReconcile_writesOfTheStatusOfManyNodesWhatHasChanged(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	all := many{network: f.network}
	for n := range operatorv1.MaxHosts {
		all.nodes = append(all.nodes, operatorv1.NodeStatus{Name: fmt.Sprintf("worker-%04d.example.com", n), Phase: operatorv1.NodePending,
			Message: "it waits for its turn"})
	}
	bytes := 0
	f.Client = interceptor.NewClient(f.WithWatch, interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		data, err := p.Data(o)
		f.Expect(err).NotTo(HaveOccurred())
		bytes = len(data)
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}})
	f.Network = all
	f.Expect(f.once()).To(Succeed())
	f.Expect(bytes).To(BeNumerically(">", 150_000))
	t.Logf("%d bytes for all", bytes)
	all.nodes[1000].Phase, all.nodes[1000].Message = operatorv1.NodeIsolated, ""
	f.Expect(f.once()).To(Succeed())
	f.Expect(bytes).To(BeNumerically("<", 1000))
	t.Logf("%d bytes for one", bytes)
	f.Expect(f.config().Status.Nodes).To(Equal(all.nodes))
}
