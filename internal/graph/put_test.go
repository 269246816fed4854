package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

const putCondition = "AnswerStored"

// answering is a fixture whose thing's answer is put into a Secret.
type answering struct {
	*fixture
	answer string
	err    error
}

func (f *answering) graph(owner graph.Owner) *graph.Graph {
	g, kind := f.graphOf(owner)
	lonely := graph.Add(g, kind, f.want("lonely"))
	g.Put(graph.Object{
		Key: "answer", Condition: putCondition, After: []graph.Ref{lonely},
		Make: func(context.Context) (client.Object, error) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: f.secretName()}, Data: map[string][]byte{"value": []byte(f.answer)}}
			return secret, f.err
		},
	})
	return g
}

func (f *answering) secretName() string { return f.name.Name + "-answer" }

func (f *answering) reconcile() *bmmv1.NvidiaBMMCluster {
	f.t.Helper()
	owner := f.owner()
	_, err := f.graph(owner).Reconcile(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	return owner
}

func (f *answering) secret() (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, f.client.Get(f.t.Context(), client.ObjectKey{Namespace: f.name.Namespace, Name: f.secretName()}, s)
}

func (f *answering) planned() (action graph.Action, why string) {
	f.t.Helper()
	for _, s := range f.graph(f.owner()).Plan(f.t.Context()) {
		if s.Key == "answer" {
			return s.Action, s.Why
		}
	}
	return "", ""
}

func TestPut_comesAfterItsResourceAndIsKept(t *testing.T) {
	t.Parallel()
	f := &answering{fixture: newFixture(t), answer: "1"}
	f.service.slow = true
	f.Expect(f.planned()).To(Equal(graph.ActionCreate))
	owner := f.reconcile()
	f.expectCondition(owner, putCondition, metav1.ConditionFalse, "Waiting", "waits for lonely")
	_, err := f.secret()
	f.Expect(apierrors.IsNotFound(err)).To(BeTrue())

	action, why := f.planned()
	f.Expect(action).To(Equal(graph.ActionWait))
	f.Expect(why).To(ContainSubstring("waits for lonely"))
	f.service.mustFind("lonely").creating = false
	f.Expect(f.planned()).To(Equal(graph.ActionCreate))
	_, err = f.secret()
	f.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "a plan writes nothing")
	owner = f.reconcile()
	f.expectCondition(owner, putCondition, metav1.ConditionTrue, "Ready", "")
	secret, err := f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(secret.Data).To(HaveKeyWithValue("value", []byte("1")))
	f.Expect(secret.OwnerReferences).To(ConsistOf(HaveField("UID", owner.UID)))
	f.Expect(f.planned()).To(Equal(graph.ActionKeep))

	f.reconcile() // which applies what was created before
	secret, err = f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.reconcile()
	again, err := f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(again.ResourceVersion).To(Equal(secret.ResourceVersion), "nothing is written")

	// another client changes ours, and adds something of its own
	again.Data["value"], again.Data["other"] = []byte("x"), []byte("y")
	f.Expect(f.client.Update(t.Context(), again)).To(Succeed())
	f.Expect(f.planned()).To(Equal(graph.ActionChange))
	f.reconcile()
	again, err = f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(again.Data).To(Equal(map[string][]byte{"value": []byte("1"), "other": []byte("y")}))
}

func TestPut_leavesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	f := &answering{fixture: newFixture(t), answer: "1"}
	theirs := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.name.Namespace, Name: f.secretName()}, Data: map[string][]byte{"value": []byte("theirs")},
	}
	f.Expect(f.client.Create(t.Context(), theirs)).To(Succeed())
	f.reconcile()
	owner := f.reconcile()
	f.expectCondition(owner, putCondition, metav1.ConditionFalse, "Conflict", f.secretName()+" exists already and doesn't belong to this object: delete it")
	secret, err := f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(secret.Data).To(HaveKeyWithValue("value", []byte("theirs")))
	action, why := f.planned()
	f.Expect(action).To(Equal(graph.ActionFail))
	f.Expect(why).NotTo(ContainSubstring("theirs"), "no content is shown")
}

// The service doesn't answer: what was put stays.
func TestPut_staysWhileItCannotBeMade(t *testing.T) {
	t.Parallel()
	f := &answering{fixture: newFixture(t), answer: "1"}
	f.reconcile()
	f.err = &fault.Error{Class: fault.Busy, Op: "ask for the answer", Err: errors.New("still at work")}
	owner := f.reconcile()
	f.expectCondition(owner, putCondition, metav1.ConditionFalse, "Busy", "ask for the answer")
	_, err := f.secret()
	f.Expect(err).NotTo(HaveOccurred())
	action, _ := f.planned()
	f.Expect(action).To(Equal(graph.ActionFail))
}

func TestGate_comesAfterWhatItLooksAt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.service.slow = true
	run := func() (asked bool, steps []graph.Step) {
		for _, plans := range []bool{true, false} {
			g, kind := f.graphOf(f.owner())
			lonely := graph.Add(g, kind, f.want("lonely"))
			g.Gate("Booted", func() phases.Phase { asked = asked || !plans; return phases.Ready() }, lonely)
			if plans {
				steps = g.Plan(t.Context())
				continue
			}
			_, err := g.Reconcile(t.Context())
			f.Expect(err).NotTo(HaveOccurred())
		}
		return asked, steps
	}
	asked, steps := run()
	f.Expect(asked).To(BeFalse())
	f.Expect(steps).To(ContainElement(HaveField("Why", "waits for lonely")))
	f.service.mustFind("lonely").creating = false
	asked, _ = run()
	f.Expect(asked).To(BeTrue())
}
