package machine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

const ignitionData = `{"ignition": {"version": "2.3.0"}, "storage": {"files": [{"path": "/root/confidential"}]}}`

// withIgnition has machines of a cluster boot with Ignition.
func withIgnition(c *infrav1.IBMPowerVSCluster) {
	c.Spec.Ignition = &infrav1.Ignition{Version: "2.3"}
	c.Spec.CosInstance = &infrav1.CosInstance{Name: "demo-cos", BucketName: "demo-bucket", BucketRegion: powervstest.Region}
}

// newIgnited is a machine that boots with Ignition.
func newIgnited(f *powervstest.Fixture) *infrav1.IBMPowerVSMachine {
	f.CreateCluster("demo", withIgnition)
	f.CreateImage("demo", "rhcos")
	f.CreateBootstrapData("worker-1", "ignition", []byte(ignitionData))
	object := f.NewMachine(func(m *clusterv1.Machine) {
		m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To("worker-1-bootstrap")}
	}, "demo", "worker-1", nil, imported)
	f.Create(object)
	return object
}

// makeCOS makes the instance of Object Storage, as the user's own, with a key that others may use.
func makeCOS(f *powervstest.Fixture) (key string) {
	api, ctx := f.API(), context.Background()
	cos, err := api.CreateInstance(ctx, ibm.InstanceRequest{
		Name: "demo-cos", Plan: ibm.PlanCOS, Target: ibm.TargetGlobal, ResourceGroupID: sim.DefaultResourceGroupID,
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.UntilAtRest()
	made, err := api.CreateHMACKey(ctx, cos.ID, "a-user")
	f.Expect(err).NotTo(HaveOccurred())
	return made.ID
}

func TestMachine_withIgnitionReadsItsDataFromTheBucketUntilItHasJoined(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	keyOfTheUser := makeCOS(f)
	object := newIgnited(f)
	f.UntilProvisioned(object)
	f.Expect(f.Made(sim.KindObject)).To(ConsistOf("node/worker-1"))
	f.Expect(f.API().DeleteHMACKey(t.Context(), keyOfTheUser)).To(Succeed())

	var config struct {
		Ignition struct {
			Version string
			Config  struct{ Append []struct{ Source string } }
		}
	}
	f.Expect(json.Unmarshal(f.UserData(object.Status.InstanceID), &config)).To(Succeed())
	f.Expect(config.Ignition.Version).To(Equal("2.3.0"))
	f.Expect(config.Ignition.Config.Append).To(HaveLen(1))
	url := config.Ignition.Config.Append[0].Source
	f.Expect(url).To(And(ContainSubstring("X-Amz-Expires=3600"), ContainSubstring("X-Amz-Signature=")))
	f.Expect(get(f, url)).To(Equal("200 " + ignitionData))
	f.Expect(get(f, strings.Split(url, "?")[0])).To(HavePrefix("403 "), "it is read with the signature only")

	ledger, err := json.Marshal(f.Ledger(object))
	f.Expect(err).NotTo(HaveOccurred())
	shown, err := json.Marshal(object)
	f.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{string(ledger), string(shown)} {
		f.Expect(text).NotTo(Or(ContainSubstring("X-Amz"), ContainSubstring("confidential")))
	}

	f.Expect(f.Cloud.Vanish(f.Cloud.State()[sim.KindObject][0].ID)).To(Succeed())
	f.Eventually(func() string { return get(f, url) }).Should(Equal("200 "+ignitionData), "it is written again until it was read")
	f.UntilReady(object)

	f.Join(object)
	f.Eventually(func() []string { return f.Made(sim.KindObject) }).Should(BeEmpty())
	f.UntilReady(object)
	f.Delete(object)
	f.UntilGone(object)
}

// get reads a URL without a login.
func get(f *powervstest.Fixture, url string) string {
	answer, err := (&http.Client{Transport: f.Transport}).Get(url)
	f.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	f.Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%d %s", answer.StatusCode, body)
}

// The data isn't deleted before it is stored that the machine has become a node: after a move it would be written again.
func TestMachine_withIgnitionRecordsThatItHasJoinedBeforeItsDataGoes(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	object := newIgnited(f)
	f.UntilProvisioned(object)
	f.Fault(simulator.Fault{Operation: "cos.deleteObject", Kind: simulator.FaultHang})
	f.Join(object)
	f.Eventually(func() int { return f.Called("cos.deleteObject") }).Should(Equal(1))
	f.Expect(f.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	f.Expect(object.Annotations).To(HaveKey(infrav1.JoinedAnnotation))
	f.Cloud.ClearFaults()
	f.Eventually(func() []string { return f.Made(sim.KindObject) }).Should(BeEmpty())
}
