package provider_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// patient is how long trouble may take to be overcome on a busy computer.
const patient = 4 * time.Minute

func simulated(duration time.Duration) metav1.Duration { return metav1.Duration{Duration: duration} }

// A fifth of all calls to IM go wrong in every way there is, from the first call to the last one: they are refused, done late, or done
// without an answer. Whenever one looks, a cluster has one infrastructure.
func TestTrouble_aFifthOfAllCallsFail(t *testing.T) {
	t.Parallel()
	const number = 8
	_, seed := soaktest.Options(t, time.Second)
	f := kraketest.StartIM(t)
	f.Poll, f.Settle = 2*kraketest.Poll, 6*time.Second // longer than any late commit, on a computer however busy
	f.SetDefaultEventuallyTimeout(patient)
	f.RunControllers()
	f.Expect(f.IM.StartChaos(simulator.Chaos{
		Seed: seed, Rate: 0.2, Hold: simulated(10 * time.Minute), Delay: simulated(3 * time.Hour),
	})).To(Succeed())
	doubles := watch(t, f)
	f.CreateCloud()
	var clusters []*krakev1.Cluster
	for i := range number {
		clusters = append(clusters, f.CreateCluster(fmt.Sprintf("demo-%d", i)))
	}
	for _, c := range clusters {
		f.UntilState(c, krakev1.StateConnecting)
		kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = changed })
	}
	for _, c := range clusters {
		f.Eventually(func(g Gomega) {
			g.Expect(f.Read(c)).To(Succeed())
			g.Expect(c.Status.LastAppliedTOSCA).To(Equal(changed), "%+v", c.Status)
			g.Expect(c.Status.State).To(Equal(krakev1.StateConnecting), "%+v", c.Status)
		}).Should(Succeed())
	}
	f.Expect(f.IM.State()).To(HaveLen(number))
	for _, c := range clusters {
		f.Delete(c)
	}
	for _, c := range clusters {
		f.UntilGone(c)
	}
	f.Expect(f.IM.State().Empty()).To(BeTrue())
	f.Expect(doubles()).To(BeEmpty(), "of one cluster there were two")
}

// watch for infrastructures of one cluster that exist at one time, until the result is asked for.
func watch(t *testing.T, f *kraketest.Fixture) (doubles func() []string) {
	var found []string
	var watching sync.WaitGroup
	stop := make(chan struct{})
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-t.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
			seen := map[string]sim.Item{}
			for _, i := range f.IM.State() {
				owner := kraketest.OwnerOf(i)
				if other, twice := seen[owner]; twice && !i.Record && !other.Record {
					found = append(found, other.ID+" and "+i.ID)
				}
				seen[owner] = i
			}
		}
	})
	return func() []string {
		close(stop)
		watching.Wait()
		return found
	}
}
