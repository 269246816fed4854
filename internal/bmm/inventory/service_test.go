package inventory

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

func TestService_settledIsWhatChangesNoMoreByItself(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for status, settled := range map[bmm.InstanceStatus]bool{
		bmm.InstanceReady: true, bmm.InstanceError: true, bmm.InstancePending: false, bmm.InstanceTerminating: false, "": false,
	} {
		g.Expect(service.Settled(&bmm.Instance{Status: status})).To(Equal(settled), string(status))
	}
}

func TestService_sameIsAllButTheTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	was := bmm.Instance{ID: "i", Status: bmm.InstanceReady, Updated: time.Now()}
	now := was
	now.Updated = time.Now().Add(time.Hour)
	g.Expect(service.Same(was, now)).To(BeTrue())
	now.Labels = bmm.Labels{"key": "value"}
	g.Expect(service.Same(was, now)).To(BeFalse())
}
