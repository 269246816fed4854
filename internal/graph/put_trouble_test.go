package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// The thing exists and isn't ready. A reconcile doesn't ask it for an answer yet; a plan does, and says that it fails.
func TestPut_planAndAGateBeforeTheirTime(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.service.slow = true
	made, checked := 0, 0
	open := func() *graph.Graph {
		g, kind := f.graphOf(f.owner())
		lonely := graph.Add(g, kind, f.want("lonely"))
		g.Gate("Booted", func() phases.Phase { checked++; return phases.Failed("there is no console") }, lonely)
		g.Put(graph.Object{
			Key: "answer", Condition: putCondition, After: []graph.Ref{lonely},
			Make: func(context.Context) (client.Object, error) {
				made++
				return nil, fault.Invalidf("lonely has no answer before it is ready")
			},
		})
		return g
	}
	_, err := open().Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	_, err = open().Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(made + checked).To(BeZero())
	steps := open().Plan(t.Context())
	f.Expect(steps).NotTo(ContainElement(HaveField("Action", graph.ActionFail)))
	f.Expect(made).To(BeZero(), "answers were asked for by a plan")
	f.Expect(checked).To(BeZero(), "gates were looked at by a plan")
}

// racing makes an object of another's right after it was seen absent.
type racing struct {
	client.Reader
	then func()
}

func (r racing) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	if o.GetObjectKind().GroupVersionKind().Kind == "Secret" && apierrors.IsNotFound(err) {
		r.then()
	}
	return err
}

func (f *answering) with(e *graph.Engine) *graph.Graph {
	kind := f.service.kind()
	g, err := e.New(f.t.Context(), f.owner(), []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	lonely := graph.Add(g, kind, f.want("lonely"))
	g.Put(graph.Object{
		Key: "answer", Condition: putCondition, After: []graph.Ref{lonely},
		Make: func(context.Context) (client.Object, error) {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: f.secretName()}, Data: map[string][]byte{"value": []byte(f.answer)}}, nil
		},
	})
	return g
}

// Another client creates one of that name between our read and our write.
func TestPut_overWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	f := &answering{fixture: newFixture(t), answer: "1"}
	e := f.engine()
	e.Live = racing{f.client, func() {
		theirs := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.name.Namespace, Name: f.secretName()}, Data: map[string][]byte{"value": []byte("theirs")},
		}
		f.Expect(client.IgnoreAlreadyExists(f.client.Create(t.Context(), theirs))).To(Succeed())
	}}
	_, _ = f.with(e).Reconcile(t.Context())
	_, _ = f.with(e).Reconcile(t.Context())
	secret, err := f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(secret.Data).To(HaveKeyWithValue("value", []byte("theirs")), "and it refers to %v: it is deleted with our owner", secret.OwnerReferences)
}

// A plan may have read access only.
func TestPut_planByWhoMayOnlyLook(t *testing.T) {
	t.Parallel()
	f := &answering{fixture: newFixture(t), answer: "1"}
	f.reconcile()
	f.reconcile()
	f.Expect(f.planned()).To(Equal(graph.ActionKeep))
	e := f.engine()
	e.OnlyLooks = true
	e.Client = interceptor.NewClient(f.client, interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, f.secretName(), errors.New("may not patch"))
		},
	})
	f.Expect(f.with(e).Plan(t.Context())).NotTo(ContainElement(HaveField("Action", graph.ActionFail)))
}

// Make that has nothing, or gives no name.
func TestPut_ofNothing(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]client.Object{"nil": nil, "a typed nil": (*corev1.Secret)(nil), "without a name": &corev1.Secret{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			owner := f.owner()
			g, _ := f.graphOf(owner)
			g.Put(graph.Object{Key: "answer", Condition: putCondition, Make: func(context.Context) (client.Object, error) { return object, nil }})
			_, err := g.Reconcile(t.Context())
			f.Expect(err).NotTo(HaveOccurred())
			f.expectCondition(owner, putCondition, metav1.ConditionFalse, "Invalid", "under answer")
		})
	}
}

// forbids reads of Secrets, for good: the role doesn't have them.
type forbids struct{ client.Reader }

func (r forbids) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == "Secret" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("may not get"))
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

// The role lacks a right. That doesn't recover by itself, and nothing else waits for it: another thing is in progress.
func TestPut_thatMayNotBeRead(t *testing.T) {
	t.Parallel()
	f := &answering{fixture: inMemory(t), answer: "1"}
	e := f.engine()
	e.Live = forbids{f.client}
	run := func() error {
		kind := f.service.kind()
		owner := f.owner()
		g, err := e.New(f.t.Context(), owner, []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		lonely := graph.Add(g, kind, f.want("lonely"))
		g.Put(graph.Object{
			Key: "answer", Condition: putCondition, After: []graph.Ref{lonely},
			Make: func(context.Context) (client.Object, error) {
				return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: f.secretName()}}, nil
			},
		})
		f.service.slow = true
		graph.Add(g, kind, f.want("other"))
		_, err = g.Reconcile(f.t.Context())
		return err
	}
	_ = run()
	f.Expect(run()).To(Succeed(), "the queue backs off, and what is on its way is looked at every 16 minutes")
}

// Something is pending, and holds up a move. An owner from before that meets a pause: its own intention is taken back, with the hold of the other.
func TestBlockMove_ofWhatIsPending(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	stale := f.owner()
	f.service.before = func(call string) error {
		if call == "create net" {
			return errors.New("connection reset")
		}
		return nil
	}
	want := func(g *graph.Graph, kind *graph.Kind[thing], keys ...string) {
		for _, key := range keys {
			graph.Add(g, kind, f.want(key))
		}
	}
	g, kind := f.graphOf(f.owner())
	want(g, kind, "net")
	_, _ = g.Reconcile(t.Context())
	f.Expect(f.owner().Annotations).To(HaveKey("clusterctl.cluster.x-k8s.io/block-move"))
	g, kind = f.graphOf(stale)
	want(g, kind, "net", "lonely")
	f.paused = true
	_, _ = g.Reconcile(t.Context())
	f.Expect(f.ledger().Entry("lonely")).To(BeNil())
	f.Expect(f.ledger().Entry("net").State).To(BeEquivalentTo("pending"))
	f.Expect(f.owner().Annotations).To(HaveKey("clusterctl.cluster.x-k8s.io/block-move"), "net is pending")
}

// replacing has another client replace an object right after it was seen to be ours.
type replacing struct {
	client.Reader
	then func()
}

func (r replacing) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	if o.GetObjectKind().GroupVersionKind().Kind == "Secret" && err == nil {
		r.then()
	}
	return err
}

// Another client replaces ours by its own between our read and our apply.
func TestPut_overWhatReplacedOurs(t *testing.T) {
	t.Parallel()
	f := &answering{fixture: newFixture(t), answer: "1"}
	e := f.engine()
	_, _ = f.with(e).Reconcile(t.Context())
	_, _ = f.with(e).Reconcile(t.Context())
	secret, err := f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(secret.OwnerReferences).To(HaveLen(1))
	once := false
	e.Live = replacing{f.client, func() {
		if once {
			return
		}
		once = true
		f.Expect(f.client.Delete(t.Context(), secret)).To(Succeed())
		theirs := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.name.Namespace, Name: f.secretName()}, Data: map[string][]byte{"value": []byte("theirs")},
		}
		f.Expect(f.client.Create(t.Context(), theirs)).To(Succeed())
	}}
	_, _ = f.with(e).Reconcile(t.Context())
	secret, err = f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(secret.Data).To(HaveKeyWithValue("value", []byte("theirs")), "and it refers to %v", secret.OwnerReferences)
}
