package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

func TestAnnouncing_countsFromWhenItIsToBe(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a, start := &announcing{}, time.Now()
	ip := &networkfabricv1.PublicIP{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	at := func(seconds int, hop resourcev1.IPAddress, by ...string) (time.Duration, bool) {
		ip.Status.NextHop, ip.Status.AnnouncedBy = hop, by
		return a.step(ip, start.Add(time.Duration(seconds)*time.Second))
	}
	never := func(took time.Duration, announced bool) { t.Helper(); g.Expect(announced).To(BeFalse(), took.String()) }
	never(at(0, ""))
	never(at(1, "172.18.0.5"))
	never(at(2, "172.18.0.5"))
	took, announced := at(4, "172.18.0.5", "a")
	g.Expect(announced).To(BeTrue())
	g.Expect(took).To(Equal(3 * time.Second))
	never(at(5, "172.18.0.5", "a", "b")) // the first one counts
	never(at(6, "", "a"))
	never(at(7, "172.18.0.5")) // to be announced again
	never(at(8, ""))           // and not any more
	never(at(9, "172.18.0.5", "a"))
	g.Expect(a.since).To(BeEmpty())
}
