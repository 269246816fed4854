package operator_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
)

// record of the DPU clusters with copies; without a name, if there is none.
func (f *fixture) record() *corev1.ConfigMap {
	record := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: dpuservice.CopiesName}
	f.Expect(client.IgnoreNotFound(f.WithWatch.Get(context.Background(), key, record))).To(Succeed())
	return record
}

// collect the record as garbage, once its owners are gone.
func (f *fixture) collect(ctx context.Context) {
	record, config := f.record(), f.config()
	lives := func(owner metav1.OwnerReference) bool { return owner.UID == config.UID }
	if len(record.OwnerReferences) > 0 && !slices.ContainsFunc(record.OwnerReferences, lives) {
		f.Expect(f.WithWatch.Delete(ctx, record)).To(Succeed())
	}
}

// refuse the removal of the finalizer once, as after a write of others.
func (f *fixture) refuseFinalizer() (refused *bool) {
	refused = new(bool)
	inner := f.Client.(client.WithWatch)
	f.Client = interceptor.NewClient(inner, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, is := o.(*operatorv1.DPFOperatorConfig); is && len(o.GetFinalizers()) == 0 && !*refused {
				*refused = true
				return apierrors.NewConflict(schema.GroupResource{Resource: "dpfoperatorconfigs"}, o.GetName(), errors.New("written by others"))
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	return refused
}

// end looks until the finalizer is off, and expects one refusal.
func (f *fixture) end(refused *bool) {
	f.t.Helper()
	f.Eventually(func() string {
		if err := f.once(); err != nil {
			f.Expect(err).To(MatchError(apierrors.IsConflict, "a conflict"))
		}
		return f.config().Name
	}, "2m", "1ms").Should(BeEmpty(), "%v", f.config().Status.Conditions)
	f.Expect(*refused).To(BeTrue())
}

// The record of clusters with copies is needed until the finalizer is off: without it, each cluster that is away is waited for.
func TestDelete_knowsWhereCopiesAreUntilItsEnd(t *testing.T) {
	f := newFixture(t)
	f.addCluster("never", errors.New("it doesn't answer in time"))
	f.create()
	f.settle()
	refused := f.refuseFinalizer()
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.end(refused)
	f.Expect(f.record().Name).To(BeEmpty(), "it is garbage")

	// Abandoned, it names those that may have copies, however often it is tried.
	f.start()
	f.create()
	f.settle()
	f.clusters[0].Client, f.clusters[0].Err = nil, errors.New("it is away")
	config := f.config()
	config.Annotations = map[string]string{operatorv1.AbandonAnnotation: "true"}
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	refused = f.refuseFinalizer()
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.end(refused)
	for range 2 {
		f.Expect(f.events.Events).To(Receive(And(ContainSubstring("DPU cluster dpus/a: it is away"), Not(ContainSubstring("never")))))
	}
	f.network.moved = 0
}

// A configuration whose finalizer users have taken off leaves its copies, and its record until that is collected.
func TestReconcile_takesOverTheRecordOfAFormerConfiguration(t *testing.T) {
	f := newFixture(t)
	former := f.create()
	f.settle()
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	config := f.config()
	config.Finalizers = nil
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	f.Expect(f.config().Name).To(BeEmpty())

	f.addCluster("never", errors.New("it doesn't answer in time"))
	next := f.create()
	f.clusters[0].Client, f.clusters[0].Err = nil, errors.New("it is away")
	f.Expect(f.once()).To(Succeed())
	f.Expect(f.record().OwnerReferences).To(ConsistOf(HaveField("UID", next.UID)), "not %s", former.UID)
	f.Expect(f.WithWatch.Delete(t.Context(), next)).To(Succeed())
	f.settleLate()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(And(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
		"the pull secrets in DPU cluster dpus/a: it is away"), HaveField("Message", Not(ContainSubstring("never")))))
	f.clusters = nil
	f.addCluster("a", nil)
	f.delete()
	f.Expect(f.record().Name).To(BeEmpty())
}

// Unknown is not absent, also in what is told of an end without a way back.
func TestDelete_abandonsCopiesThatArentKnown(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	clusters := f.Clusters
	f.Clusters = func(context.Context) (all, refused []dpucluster.Cluster, _ error) {
		return nil, nil, errors.New("the cache isn't filled")
	}
	config := f.config()
	config.Annotations = map[string]string{operatorv1.AbandonAnnotation: "true"}
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	f.delete()
	f.Expect(f.events.Events).To(Receive(ContainSubstring("it isn't known in which DPU clusters pull secrets: the cache isn't filled")))
	f.Clusters, f.network.moved = clusters, 0
}

// Of the one that would copy pull secrets again not only the Deployment is gone.
func TestDelete_waitsForThePodsThatCopyPullSecrets(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "still-there",
		Labels: map[string]string{"app.kubernetes.io/name": "dpf-dpuservice-controller"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "manager", Image: "x"}}
	f.Expect(f.WithWatch.Create(t.Context(), pod)).To(Succeed())
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	f.Expect(f.objects()).To(BeEmpty())
	f.Expect(f.labelled()).To(ConsistOf("ngc"))
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
		"Pod dpf-operator-system/still-there, which may copy pull secrets"))
	f.Expect(f.WithWatch.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	f.delete()
}

// settleLate when nothing waits any more for the clean-up on DPUs.
func (f *fixture) settleLate() {
	f.t.Helper()
	f.settle()
	now := f.Clock
	f.Clock = clocktesting.NewFakePassiveClock(time.Now().Add(16 * time.Minute))
	f.settle()
	f.Clock = now
}

// dying is a DPU cluster that doesn't answer from a certain call on.
type dying struct {
	client.WithWatch
	calls, last int
}

var errAway = errors.New("it is away")

func (d *dying) call(call func() error) error {
	if d.calls++; d.calls > d.last {
		return errAway
	}
	return call()
}

func (d *dying) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return d.call(func() error { return d.WithWatch.List(ctx, list, opts...) })
}

func (d *dying) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return d.call(func() error { return d.WithWatch.Delete(ctx, o, opts...) })
}

func TestDelete_ofADPUClusterThatDiesAtAnyCall(t *testing.T) {
	f := newFixture(t)
	f.addCluster("never", errAway)
	for last := 0; ; last++ {
		f.create()
		f.settle()
		d := &dying{WithWatch: f.clusters[0].Client.(client.WithWatch), last: last}
		f.Clusters = func(context.Context) (all, refused []dpucluster.Cluster, _ error) {
			clusters := slices.Clone(f.clusters)
			if clusters[0].Client = d; d.calls > d.last {
				clusters[0].Client, clusters[0].Err = nil, errAway
			}
			return clusters, nil, nil
		}
		f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
		f.settleLate()
		died := d.calls > last
		f.Expect(f.config().Name != "").To(Equal(died), "after %d calls", last)
		if died {
			f.Expect(f.condition(operatorv1.ReadyCondition)).To(And(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
				"the pull secrets in DPU cluster dpus/a: it is away"), HaveField("Message", Not(ContainSubstring("never")))))
		}
		f.start() // with the cluster as it is
		f.delete()
		var copies corev1.SecretList
		f.Expect(f.clusters[0].Client.List(t.Context(), &copies)).To(Succeed())
		f.Expect(copies.Items).To(BeEmpty())
		if !died {
			f.Expect(last).To(BeNumerically(">", 1))
			return
		}
	}
}

func TestReconcile_saysThatAPullSecretIsInTheWay(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.Expect(f.once()).To(Succeed())
	foreign := secret("ngc")
	foreign.Labels = map[string]string{dpuservice.PullSecretLabel: ""}
	f.Expect(f.clusters[0].Client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(namespace))).To(Succeed())
	f.Expect(f.clusters[0].Client.Create(t.Context(), foreign)).To(Succeed())
	f.start()
	_, err := f.Reconcile(t.Context(), request)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.condition(operatorv1.ImagePullSecretsReconciledCondition)).To(pending(
		"DPU cluster dpus/a has a Secret dpf-operator-system/ngc that isn't a copy: rename or delete it there"))
}

// The parent says which kinds to look for: without it, components are found, too.
func TestDelete_withoutTheParentOfTheComponents(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	f.Expect(f.WithWatch.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: components.ParentName}})).To(Succeed())
	f.delete()
	f.Expect(f.objects()).To(BeEmpty())
	f.Expect(f.stranded).To(BeZero())
}

// lagging is a cache that has a write only when it was read once more.
type lagging struct {
	client.WithWatch
	last *operatorv1.DPFOperatorConfig
}

func (l *lagging) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	config, is := o.(*operatorv1.DPFOperatorConfig)
	if !is {
		return l.WithWatch.Get(ctx, key, o, opts...)
	}
	now := &operatorv1.DPFOperatorConfig{}
	if err := l.WithWatch.Get(ctx, key, now, opts...); err != nil {
		return err
	}
	if l.last == nil {
		l.last = now
	}
	l.last.DeepCopyInto(config)
	l.last = now
	return nil
}

// What was read before the last write is never written by.
func TestReconcile_aCacheThatLagsCausesNoConflict(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.Client = &lagging{WithWatch: f.Client.(client.WithWatch)}
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(success)
	f.reads = 0
	f.Expect(f.once()).To(Succeed())
	f.Expect(f.reads).To(BeZero(), "at rest the cache is enough")
	f.delete()
}
