package waiting_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/waiting"
)

var kinds = []client.ObjectList{&infrav1.NvidiaBMMClusterList{}, &infrav1.NvidiaBMMMachineList{}}

func TestCollector_saysWhatObjectsWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // in which a second is one to the last digit
		g := NewWithT(t)
		condition := func(kind string, status metav1.ConditionStatus, reason string, ago time.Duration) metav1.Condition {
			at := metav1.NewTime(time.Now().Add(-ago))
			return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: at}
		}
		machine := func(name string, conditions ...metav1.Condition) client.Object {
			m := &infrav1.NvidiaBMMMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name}}
			m.SetConditions(conditions)
			return m
		}
		waits := condition("Ready", "False", "Waiting", time.Hour)
		c := clientOf(g,
			machine("new"),
			machine("ready", condition("Ready", "True", "Ready", 0), condition("InstanceProvisioned", "True", "Ready", 0),
				condition("Paused", "False", "NotPaused", time.Hour)),
			machine("young", waits, condition("InstanceProvisioned", "False", "Waiting", time.Minute)),
			machine("old", waits, condition("InstanceProvisioned", "False", "Waiting", time.Hour)),
			machine("refused", waits, condition("InstanceProvisioned", "Unknown", "Credentials", time.Second)),
			machine("paused", condition("Paused", "True", "Paused", 2*time.Second)),
		)
		collector := waiting.New(c, kinds...)
		g.Expect(testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP bedplate_objects Number of objects by kind.
# TYPE bedplate_objects gauge
bedplate_objects{kind="NvidiaBMMCluster"} 0
bedplate_objects{kind="NvidiaBMMMachine"} 6
# HELP bedplate_objects_waiting Objects that don't meet a condition, by the reason that it gives.
# TYPE bedplate_objects_waiting gauge
bedplate_objects_waiting{condition="InstanceProvisioned",kind="NvidiaBMMMachine",reason="Credentials"} 1
bedplate_objects_waiting{condition="InstanceProvisioned",kind="NvidiaBMMMachine",reason="Waiting"} 2
bedplate_objects_waiting{condition="Paused",kind="NvidiaBMMMachine",reason="Paused"} 1
# HELP bedplate_objects_waiting_longest_seconds Longest time that an object hasn't met a condition, by reason.
# TYPE bedplate_objects_waiting_longest_seconds gauge
bedplate_objects_waiting_longest_seconds{condition="InstanceProvisioned",kind="NvidiaBMMMachine",reason="Credentials"} 1
bedplate_objects_waiting_longest_seconds{condition="InstanceProvisioned",kind="NvidiaBMMMachine",reason="Waiting"} 3600
bedplate_objects_waiting_longest_seconds{condition="Paused",kind="NvidiaBMMMachine",reason="Paused"} 2
`))).To(Succeed())

		g.Expect(c.DeleteAllOf(t.Context(), &infrav1.NvidiaBMMMachine{}, client.InNamespace("blue"))).To(Succeed())
		g.Expect(testutil.CollectAndCount(collector)).To(Equal(2), "of an object that is gone nothing stays")
	})
}

// Every replica has the metrics' address, and one of them leads.
func TestCollector_countsWhileItRuns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	counts := func() (int, error) {
		return testutil.GatherAndCount(metrics.Registry, "bedplate_objects")
	}
	g.Expect(counts()).To(BeZero())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- waiting.WhileLeading{Collector: waiting.New(clientOf(g), kinds...)}.Start(ctx) }()
	g.Eventually(counts).Should(Equal(len(kinds)))
	stop()
	g.Eventually(ended).Should(Receive(Not(HaveOccurred())))
	g.Expect(counts()).To(BeZero())
}

// An error must not hide the metrics that would show it.
func TestCollector_leavesOutWhatItCannotRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := interceptor.NewClient(clientOf(g), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*infrav1.NvidiaBMMClusterList); ok {
				return errors.New("the cache has ended")
			}
			if _, ok := ctx.Deadline(); !ok {
				return errors.New("asked without end")
			}
			return c.List(ctx, list, options...)
		},
	})
	g.Expect(testutil.CollectAndCompare(waiting.New(c, kinds...), strings.NewReader(`
# HELP bedplate_objects Number of objects by kind.
# TYPE bedplate_objects gauge
bedplate_objects{kind="NvidiaBMMMachine"} 0
`))).To(Succeed())
}

func clientOf(g Gomega, objects ...client.Object) client.WithWatch {
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).Build()
}
