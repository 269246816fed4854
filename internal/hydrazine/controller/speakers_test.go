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

// All addresses ask for the same few speakers, so a speaker's Lease is read when it may have run out, and not before.
func TestSpeakers_areAskedForOnceInALifetime(t *testing.T) {
	t.Parallel()
	g, now, there := NewWithT(t), time.Now(), &leases{}
	s := &speakers{Reader: there, heard: map[string]time.Time{}}
	at := func(since time.Time) time.Duration {
		silent, err := s.silentAt(t.Context(), "a", since, now)
		g.Expect(err).NotTo(HaveOccurred())
		return silent.Sub(now)
	}
	g.Expect(at(now.Add(-time.Second))).To(BeNumerically(">", memory), "without a Lease it counts from when it was to withdraw")
	g.Expect(at(now.Add(-time.Hour))).To(BeNumerically("<", 0))
	asked := there.reads

	there.renewed = now
	alive := at(now)
	g.Expect(alive).To(BeNumerically(">", memory))
	now = now.Add(alive - time.Second)
	there.renewed = now // it lives, which nobody has to know yet
	g.Expect(at(now)).To(Equal(time.Second))
	g.Expect(there.reads).To(Equal(asked + 1))
	now = now.Add(time.Second)
	g.Expect(at(now)).To(Equal(alive - time.Second))
	g.Expect(there.reads).To(Equal(asked + 2))

	now = now.Add(alive)
	there.away = errors.New("the API server is away")
	_, err := s.silentAt(t.Context(), "a", now, now)
	g.Expect(err).To(MatchError(ContainSubstring("the API server is away")), "unknown is not silent")
	there.away = nil
	g.Expect(at(now)).To(BeNumerically("<=", 0))
	g.Expect(s.heard).To(BeEmpty())
}
