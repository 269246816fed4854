package actuator

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/machineapi"
)

// Machines for which something was begun go before those for which nothing was, here as with Cluster API's.
func TestLater_keepsThePriority(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(later(ctrl.Result{}, nil)).To(Succeed())
	g.Expect(later(ctrl.Result{RequeueAfter: time.Minute, Priority: ptr.To(creates.Urgent)}, nil)).To(
		Equal(&machineapi.RequeueAfterError{After: time.Minute, Priority: ptr.To(creates.Urgent)}))
}
