package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
)

func TestSpeaker_neighborsKnowExactlyWhatIsAnnounced(t *testing.T) {
	w := newWorld(t)
	w.configure()
	w.speaker(1)
	first, other := w.publicIP("203.0.113.10", hop), w.publicIP("203.0.113.11", hop2)
	six := w.publicIP("2001:db8::10", hop6)
	w.publicIP("203.0.113.12", "") // it is unused

	all := map[string]map[string]string{
		"203.0.113.10/32":  by(addressOf(1), hop),
		"203.0.113.11/32":  by(addressOf(1), hop2),
		"2001:db8::10/128": by(addressOf(1), hop6),
	}
	w.Eventually(w.routes).WithTimeout(patience).Should(Equal(all))
	w.Expect(w.announcedBy(first)()).To(HaveExactElements(w.name(1)))
	w.established(1, router)

	w.setNextHop(first, "")
	delete(all, "203.0.113.10/32")
	w.Eventually(w.routes).WithTimeout(patience).Should(Equal(all))
	w.Eventually(w.announcedBy(first)).WithTimeout(patience).Should(BeEmpty())

	w.setNextHop(other, hop)
	all["203.0.113.11/32"] = by(addressOf(1), hop)
	w.Eventually(w.routes).WithTimeout(patience).Should(Equal(all))

	w.setFinalizers(other, networkfabricv1.PublicIPFinalizer)
	w.Expect(w.client.Delete(t.Context(), other)).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), six)).To(Succeed())
	w.Eventually(w.routes).WithTimeout(patience).Should(BeEmpty())
	w.Eventually(w.announcedBy(other)).WithTimeout(patience).Should(BeEmpty())
	w.setFinalizers(other)
	w.Consistently(w.routes).WithTimeout(time.Second).Should(BeEmpty())
}
