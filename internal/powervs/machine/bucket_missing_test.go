package machine_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// Bootstrap data for Ignition are handed over in the bucket, also if that is still to come: a cluster may get Ignition later.
func TestMachine_withIgnitionWaitsForTheBucket(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo")
	f.CreateImage("demo", "rhcos")
	f.UntilReady(c)
	heal := f.Refuse(http.StatusInternalServerError, "resourceController.createResourceInstance")
	powervstest.Change(f, c, withIgnition)
	f.UntilReason(c, infrav1.COSInstanceReadyCondition, "Transient", "")
	f.CreateBootstrapData("worker-1", "ignition", []byte(ignitionData))
	object := f.NewMachine(func(m *clusterv1.Machine) {
		m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To("worker-1-bootstrap")}
	}, "demo", "worker-1", nil, imported)
	f.Create(object)
	f.UntilReason(object, infrav1.BootstrapDataReadyCondition, "Waiting", "bucket")
	f.Expect(f.Made(sim.KindServer)).To(BeEmpty())
	heal()
	f.UntilProvisioned(object)
	f.Expect(f.Made(sim.KindObject)).To(ConsistOf("node/worker-1"))
	f.Expect(string(f.UserData(object.Status.InstanceID))).NotTo(ContainSubstring("confidential"))
}
