package provider_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// IM repeats what it was sent, in its errors and in its log. Users see neither passwords nor the keys of clouds.
func TestSecrets_areInNoStatusEventOrLedger(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	const key = "AKIA-cloud-key"
	said := `fatal: {"username": "` + kraketest.Username + `", "password": "` + kraketest.Password + `", "key": "` + key + `"} was refused`
	f.Expect(f.IM.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: said, Times: -1})).To(Succeed())
	f.Fault(simulator.Fault{Operation: "getEstimate", Kind: simulator.FaultStatus, Status: 500, Message: said, Times: 3})
	f.Fault(simulator.Fault{Operation: "createInfrastructure", Kind: simulator.FaultStatus, Status: 400, Message: said})
	f.CreateCloud()
	secret := f.Secret(kraketest.CloudName, nil)
	kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data[im.FieldPassword] = []byte(key) })
	f.RunControllers()
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Failed", "was refused")

	for _, list := range []client.ObjectList{
		&krakev1.ClusterList{}, &krakev1.CloudList{}, &krakev1.InfrastructureProviderList{}, &ledgerv1.LedgerList{}, &eventsv1.EventList{},
	} {
		var text []byte
		f.Eventually(func(g Gomega) { // an event comes after the status
			g.Expect(f.Client.List(t.Context(), list, client.InNamespace(f.Namespace))).To(Succeed())
			var err error
			text, err = json.Marshal(list)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(ContainSubstring(f.Namespace), "%T", list)
		}).Should(Succeed())
		f.Expect(string(text)).To(And(Not(ContainSubstring("cr=et")), Not(ContainSubstring(key))), "%T", list)
	}
}
