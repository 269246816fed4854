package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// leases is an API server with at most one Lease, and a BGPConfiguration of which neighbors remember a speaker for a minute.
type leases struct {
	client.Reader
	renewed time.Time
	away    error
	reads   int
}

const memory = time.Minute

func (l *leases) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	l.reads++
	if l.away != nil {
		return l.away
	}
	if l.renewed.IsZero() {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, key.Name)
	}
	into.(*coordinationv1.Lease).Spec = coordinationv1.LeaseSpec{
		RenewTime: &metav1.MicroTime{Time: l.renewed}, LeaseDurationSeconds: ptr.To(lease.Seconds(memory)),
	}
	return nil
}

func (l *leases) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*networkfabricv1.BGPConfigurationList).Items = []networkfabricv1.BGPConfiguration{{
		Spec: networkfabricv1.BGPConfigurationSpec{RestartTime: &metav1.Duration{Duration: memory}},
	}}
	return nil
}

// All addresses ask for the same few speakers, so a speaker's Lease isn't read each time.
func TestSpeakers_areAskedForOnceInAWhile(t *testing.T) {
	t.Parallel()
	g, own, there := NewWithT(t), time.Duration(0), &leases{}
	s := newSpeakers(there, "")
	s.own = func() time.Duration { return own }
	in := func(since time.Time) time.Duration {
		left, err := s.silentIn(t.Context(), "a", since)
		g.Expect(err).NotTo(HaveOccurred())
		return left
	}
	silence := in(time.Time{})
	g.Expect(silence).To(BeNumerically(">", memory))
	own += silence
	g.Expect(in(time.Time{})).To(Equal(silence), "it isn't expected to withdraw")
	withdrawn := time.Now()
	g.Expect(in(withdrawn)).To(Equal(silence), "without a Lease it counts from when that was seen first")
	own += silence
	g.Expect(in(withdrawn)).To(BeZero())
	g.Expect(in(withdrawn.Add(time.Second))).To(Equal(silence), "another address is withdrawn later")

	there.renewed = time.Now()
	alive := in(withdrawn)
	g.Expect(alive).To(Equal(silence))
	asked := there.reads
	own += readAgain - 1
	there.renewed = there.renewed.Add(time.Second) // it lives, which need not be known yet
	g.Expect(in(withdrawn)).To(Equal(alive - readAgain + 1))
	g.Expect(there.reads).To(Equal(asked))
	own++
	g.Expect(in(withdrawn)).To(Equal(alive))
	g.Expect(there.reads).To(Equal(asked + 1))

	own += alive
	there.away = errors.New("the API server is away")
	_, err := s.silentIn(t.Context(), "a", withdrawn)
	g.Expect(err).To(MatchError(ContainSubstring("the API server is away")), "unknown is not silent")
	there.away = nil
	g.Expect(in(withdrawn)).To(BeZero())
	own += 3 * silence
	_ = in(withdrawn)
	g.Expect(s.words).To(HaveLen(1), "what isn't asked for any more isn't remembered")
}

// Whatever the clocks of the manager and of a speaker are set to, a speaker that renews its Lease lives, and one that doesn't is silent when
// one silence has passed.
func TestSpeakers_areBuriedByTheOwnClock(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"right": 0, "behind": -10 * time.Minute, "ahead": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, own, there := NewWithT(t), time.Duration(0), &leases{renewed: time.Now().Add(jump)}
			r := &publicIPReconciler{speakers: newSpeakers(there, ""), poll: time.Second}
			r.speakers.own = func() time.Duration { return own }
			ip := &networkfabricv1.PublicIP{}
			ip.Status.AnnouncedBy = []string{"a"}
			for range 1000 {
				g.Expect(r.buryAnnouncers(t.Context(), ip).RequeueAfter).NotTo(BeZero())
				g.Expect(ip.Status.AnnouncedBy).To(ConsistOf("a"), "it has renewed its Lease")
				own += lease.Interval
				there.renewed = there.renewed.Add(lease.Interval)
			}
			there.renewed = time.Now() // its clock is right again, and it dies
			r.buryAnnouncers(t.Context(), ip)
			own += readAgain
			again := r.buryAnnouncers(t.Context(), ip)
			g.Expect(again.RequeueAfter).To(BeNumerically("<", 10*time.Minute))
			own += again.RequeueAfter - 1
			r.buryAnnouncers(t.Context(), ip)
			g.Expect(ip.Status.AnnouncedBy).To(ConsistOf("a"))
			own++
			r.buryAnnouncers(t.Context(), ip)
			g.Expect(ip.Status.AnnouncedBy).To(BeEmpty())
		})
	}
}
