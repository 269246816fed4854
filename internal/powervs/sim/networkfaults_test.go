package sim_test

import (
	"testing"
	"time"

	tg "github.com/IBM/networking-go-sdk/transitgatewayapisv1"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

func (n networks) tryVPC(name string) string {
	_, response, err := n.vpc.CreateVPCWithContext(n.t.Context(), &vpcv1.CreateVPCOptions{Name: &name})
	if err != nil && (response == nil || response.StatusCode == 0) {
		return "no answer"
	}
	return answered(response, err)
}

func TestLostAnswers_haveDoneTheirWork(t *testing.T) {
	n := newNetworks(onLoopback(t))
	n.fault(simulator.Fault{Operation: "vpc.createVPC", Kind: simulator.FaultLoseAnswer})
	n.Expect(n.tryVPC("lost")).To(Equal("no answer"))
	n.Expect(n.tryVPC("lost")).To(Equal("400 validation_unique_failed"))

	n.fault(simulator.Fault{Operation: "transit.createTransitGateway", Kind: simulator.FaultLoseAnswer})
	create := func() error {
		_, _, err := n.transit.CreateTransitGateway(&tg.CreateTransitGatewayOptions{Name: ptr.To("lost"), Location: ptr.To(region)})
		return err
	}
	n.Expect(create()).NotTo(Succeed())
	n.Expect(create()).To(MatchError(ContainSubstring("A gateway with the same name already exists.")))

	c := n.storage(*n.createInstance("files", "global", sim.PlanObjectStorage).GUID)
	n.fault(simulator.Fault{Operation: "cos.createBucket", Kind: simulator.FaultLoseAnswer})
	n.Expect(createBucket(c, "lost")).To(ContainSubstring("RequestError"))
	n.Expect(createBucket(c, "lost")).To(Equal("409 BucketAlreadyOwnedByYou"))
}

func TestLateWork_isDoneWhenTheClientHasGone(t *testing.T) {
	n := newNetworks(onLoopback(t))
	n.fault(simulator.Fault{
		Operation: "vpc.createVPC", Kind: simulator.FaultCommitLate,
		Hold: metav1.Duration{Duration: time.Second}, Delay: metav1.Duration{Duration: time.Second},
	})
	n.Expect(n.tryVPC("late")).To(Equal("no answer"))
	n.Eventually(func() int { return len(n.cloud.State()[sim.KindVPC]) }, time.Minute).Should(Equal(1))
}

func TestFaults_areInTheFormatOfTheService(t *testing.T) {
	n := newNetworks(onLoopback(t))
	c := n.storage(*n.createInstance("files", "global", sim.PlanObjectStorage).GUID)
	for status, code := range map[int]string{500: "InternalError", 503: "ServiceUnavailable", 429: "SlowDown"} {
		fail := func(operation string) {
			n.fault(simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: status, Message: "trouble"})
		}
		fail("vpc.listVPCs")
		_, response, err := n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{})
		n.Expect(err).To(MatchError(ContainSubstring("trouble")))
		n.Expect(response.StatusCode).To(Equal(status))
		fail("transit.listTransitGateways")
		_, response, err = n.transit.ListTransitGateways(&tg.ListTransitGatewaysOptions{})
		n.Expect(err).To(MatchError(ContainSubstring("trouble")))
		n.Expect(response.StatusCode).To(Equal(status))
		fail("cos.deleteBucket")
		n.Expect(deleteBucket(c, "demo")).To(HaveSuffix(code))
	}
	n.Expect(n.cloud.Calls()).To(And(HaveKeyWithValue("vpc.listVPCs", 3), HaveKeyWithValue("cos.deleteBucket", 3)))
	n.Expect(n.cloud.AddFault(simulator.Fault{Operation: "vpc.paintVPC", Kind: simulator.FaultHang})).NotTo(Succeed())
}

func TestChaos_breaksNothing(t *testing.T) {
	n := newNetworks(onLoopback(t))
	n.Expect(n.cloud.StartChaos(simulator.Chaos{Seed: 1, Rate: 0.5, Kinds: []simulator.ChaosKind{
		simulator.ChaosStatus500, simulator.ChaosLoseAnswer, simulator.Chaos429}})).To(Succeed())
	n.Eventually(func() string { return n.tryVPC("net") }, time.Minute).Should(Equal("400 validation_unique_failed"))
	n.cloud.StopChaos()
	list, _, err := n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{})
	n.Expect(err).NotTo(HaveOccurred())
	n.Expect(list.Vpcs).To(HaveLen(1))
}

func TestExpiredTokens_areRefusedUntilTheNextLogin(t *testing.T) {
	n := newNetworks(onLoopback(t))
	n.Expect(n.tryVPC("net")).To(Equal("201"))
	n.cloud.ExpireTokens()
	n.Expect(n.tryVPC("more")).To(Equal("401 not_authorized"))
	_, response, err := n.transit.ListTransitGateways(&tg.ListTransitGatewaysOptions{})
	n.Expect(answered(response, err)).To(Equal("401 unauthorized"))
	fresh := newNetworks(bench{Gomega: n.Gomega, t: t, cloud: n.cloud, sdk: newSDK(n, n.http.Transport, n.endpoint)})
	n.Expect(fresh.tryVPC("more")).To(Equal("201"))
}
