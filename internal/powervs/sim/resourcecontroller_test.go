package sim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	rc "github.com/IBM/platform-services-go-sdk/resourcecontrollerv2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

func TestResourceGroups_byAccountAndName(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		list := func(account, name string) (int, []string) {
			found, answer, err := b.manager.ListResourceGroupsWithContext(b.t.Context(),
				b.manager.NewListResourceGroupsOptions().SetAccountID(account).SetName(name))
			var ids []string
			if err == nil {
				for _, g := range found.Resources {
					ids = append(ids, *g.ID)
				}
			}
			return answer.StatusCode, ids
		}
		status, ids := list(sim.DefaultAccount, sim.DefaultResourceGroup)
		b.Expect(status).To(Equal(http.StatusOK))
		b.Expect(ids).To(Equal([]string{sim.DefaultResourceGroupID}))
		_, ids = list(sim.DefaultAccount, "other")
		b.Expect(ids).To(BeEmpty())
		status, _ = list("another", sim.DefaultResourceGroup)
		b.Expect(status).To(Equal(http.StatusForbidden))

		group, _, err := b.manager.GetResourceGroup(b.manager.NewGetResourceGroupOptions(sim.DefaultResourceGroupID))
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(*group.Name).To(Equal(sim.DefaultResourceGroup))
		_, answer, err := b.manager.GetResourceGroup(b.manager.NewGetResourceGroupOptions("none"))
		b.Expect(err).To(HaveOccurred())
		b.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))
	})
}

func TestWorkspace_fromProvisioningToRemoval(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		made := b.createInstance("demo", sim.DefaultZone, sim.PlanPower)
		b.Expect(*made.State).To(Equal("provisioning"))
		b.Expect(*made.ID).To(Equal(*made.CRN))
		b.Expect(*made.CRN).To(Equal("crn:v1:bluemix:public:power-iaas:dal10:a/" + sim.DefaultAccount + ":" + *made.GUID + "::"))
		b.Expect(b.remove(*made.GUID, false)).To(Equal(422), "it is provisioning")
		b.pass(19 * time.Second)
		b.Expect(b.state(*made.CRN)).To(Equal("provisioning"))
		b.pass(time.Second)
		b.Expect(b.state(*made.CRN)).To(Equal("active"))
		b.Expect(b.state(*made.GUID)).To(Equal("active"))

		b.Expect(b.remove(*made.CRN, true)).To(Equal(http.StatusAccepted))
		b.Expect(b.state(*made.GUID)).To(Equal("active"), "for a while")
		b.Expect(b.remove(*made.CRN, true)).To(Equal(422))
		b.Expect(b.cloud.State().Empty()).To(BeFalse())
		b.pass(20 * time.Second)
		b.Expect(b.state(*made.GUID)).To(Equal("pending_reclamation"))
		b.Expect(b.cloud.State().Empty()).To(BeTrue())
		b.Expect(b.remove(*made.CRN, true)).To(Equal(422), "in reclamation")
		b.Expect(b.names(b.controller.NewListResourceInstancesOptions())).To(BeEmpty())
		b.pass(7 * 24 * time.Hour)
		b.Expect(b.state(*made.GUID)).To(Equal("removed"))
		b.Expect(b.remove(*made.CRN, true)).To(Equal(http.StatusGone))
		b.pass(time.Hour)
		b.Expect(b.state(*made.GUID)).To(Equal(http.StatusNotFound))
		b.Expect(b.cloud.State()).To(BeEmpty())
	})
}

func TestWorkspace_withoutReclamationIsRemovedAtOnce(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.newWorkspace("demo")
		b.Expect(b.remove(id, false)).To(Equal(http.StatusAccepted))
		b.pass(20 * time.Second)
		b.Expect(b.state(id)).To(Equal("removed"))
	}, func(c *sim.Config) { c.Times.Reclamation = metav1.Duration{Duration: -1} })
}

func TestWorkspace_fails(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.cloud.SetOutcome(sim.Outcome{Kind: sim.KindInstance, Status: "failed", Message: "no capacity"})).To(Succeed())
		id := *b.createInstance("demo", sim.DefaultZone, sim.PlanPower).GUID
		b.Expect(b.state(id)).To(Equal("provisioning"))
		b.pass(20 * time.Second)
		b.Expect(b.state(id)).To(Equal("failed"))
		b.Expect(b.names(b.controller.NewListResourceInstancesOptions())).To(BeEmpty(), "only active and provisioning ones")
		b.Expect(b.names(b.controller.NewListResourceInstancesOptions().SetState("failed"))).To(Equal([]string{"demo"}))
		b.Expect(b.remove(id, false)).To(Equal(http.StatusAccepted))
		b.Expect(b.state(b.newWorkspace("demo"))).To(Equal("active"), "the outcome was for one")
	})
}

func TestInstances_areListedByFilterAndPage(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, name := range []string{"a", "b", "b", "c", "d"} {
			b.newWorkspace(name)
		}
		cos := b.createInstance("a", "global", sim.PlanObjectStorage)
		b.Expect(*cos.State).To(Equal("active"))
		all := b.controller.NewListResourceInstancesOptions
		b.Expect(b.names(all())).To(Equal([]string{"a", "b", "b", "c", "d", "a"}))
		b.Expect(b.names(all().SetName("b"))).To(Equal([]string{"b", "b"}), "names aren't unique")
		b.Expect(b.names(all().SetResourceID(sim.ResourcePower))).To(Equal([]string{"a", "b", "b", "c", "d"}))
		b.Expect(b.names(all().SetResourcePlanID(sim.PlanObjectStorage).SetName("a"))).To(Equal([]string{"a"}))
		b.Expect(b.names(all().SetGUID(*cos.GUID))).To(Equal([]string{"a"}))
		b.Expect(b.names(all().SetName("none"))).To(BeEmpty())
		b.Expect(b.cloud.Calls()["resourcecontroller.listResourceInstances"]).To(Equal(3+1+3+1+1+1), "pages of two")
		_, answer, _ := b.controller.ListResourceInstances(all().SetStart("wrong!"))
		b.Expect(answer.StatusCode).To(Equal(http.StatusBadRequest))
	}, func(c *sim.Config) { c.PageSize = 2 })
}

func TestInstances_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.newWorkspace("demo")
		for what, o := range map[string]*rc.CreateResourceInstanceOptions{
			"a name with a slash":  b.controller.NewCreateResourceInstanceOptions("a/b", "dal10", sim.DefaultResourceGroupID, sim.PlanPower),
			"a long name":          b.controller.NewCreateResourceInstanceOptions(strings.Repeat("a", 181), "dal10", sim.DefaultResourceGroupID, sim.PlanPower),
			"an unknown zone":      b.controller.NewCreateResourceInstanceOptions("a", "mars1", sim.DefaultResourceGroupID, sim.PlanPower),
			"an unknown group":     b.controller.NewCreateResourceInstanceOptions("a", "dal10", "none", sim.PlanPower),
			"an unknown plan":      b.controller.NewCreateResourceInstanceOptions("a", "dal10", sim.DefaultResourceGroupID, "none"),
			"more than the quota":  b.controller.NewCreateResourceInstanceOptions("a", "dal10", sim.DefaultResourceGroupID, sim.PlanPower),
			"a zone for a storage": b.controller.NewCreateResourceInstanceOptions("a", "dal10", sim.DefaultResourceGroupID, sim.PlanObjectStorage),
		} {
			_, answer, err := b.controller.CreateResourceInstance(o)
			b.Expect(err).To(HaveOccurred(), what)
			b.Expect(answer.StatusCode).To(Equal(http.StatusBadRequest), what)
		}
		b.Expect(b.cloud.State()[sim.KindInstance]).To(HaveLen(1))
	}, func(c *sim.Config) { c.Quotas.Workspaces = 1 })
}

func TestInstances_existThoughTheAnswerWasLostOrAnError(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, f := range []simulator.Fault{
			{Kind: simulator.FaultLoseAnswer}, {Kind: simulator.FaultStatusAfter, Status: 500, Message: "internal error"},
		} {
			f.Operation = "resourcecontroller.createResourceInstance"
			b.fault(f)
			_, _, err := b.controller.CreateResourceInstance(
				b.controller.NewCreateResourceInstanceOptions(string(f.Kind), "dal10", sim.DefaultResourceGroupID, sim.PlanPower))
			b.Expect(err).To(HaveOccurred())
			b.Expect(b.names(b.controller.NewListResourceInstancesOptions())).To(ContainElement(string(f.Kind)))
		}
	})
}

func TestKeys_haveSignaturesIfAskedFor(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		cos := b.createInstance("demo", "global", sim.PlanObjectStorage)
		key := func(hmac bool) *rc.ResourceKey {
			parameters := &rc.ResourceKeyPostParameters{}
			parameters.SetProperty("HMAC", hmac)
			made, _, err := b.controller.CreateResourceKey(
				b.controller.NewCreateResourceKeyOptions("demo", *cos.GUID).SetParameters(parameters).SetRole("Writer"))
			b.Expect(err).NotTo(HaveOccurred())
			return made
		}
		plain, signing := key(false), key(true)
		b.Expect(plain.Credentials.GetProperty("cos_hmac_keys")).To(BeNil())
		hmac, is := signing.Credentials.GetProperty("cos_hmac_keys").(map[string]any)
		b.Expect(is).To(BeTrue())
		b.Expect(hmac).To(And(HaveKey("access_key_id"), HaveKey("secret_access_key")))

		b.Expect(b.keysOf(*cos.GUID)).To(Equal([]string{*plain.GUID, *signing.GUID}), "names aren't unique")
		again, _, err := b.controller.GetResourceKey(b.controller.NewGetResourceKeyOptions(*signing.ID))
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(again.Credentials.GetProperty("cos_hmac_keys")).To(Equal(signing.Credentials.GetProperty("cos_hmac_keys")))

		b.Expect(b.remove(*cos.GUID, false)).To(Equal(http.StatusBadRequest), "it has keys")
		answer, err := b.controller.DeleteResourceKey(b.controller.NewDeleteResourceKeyOptions(*plain.GUID))
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(answer.StatusCode).To(Equal(http.StatusNoContent))
		answer, err = b.controller.DeleteResourceKey(b.controller.NewDeleteResourceKeyOptions(*plain.GUID))
		b.Expect(err).To(HaveOccurred())
		b.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))
		b.Expect(b.remove(*cos.GUID, true)).To(Equal(http.StatusAccepted))
		b.Expect(b.keysOf(*cos.GUID)).To(BeEmpty())
		_, answer, _ = b.controller.CreateResourceKey(b.controller.NewCreateResourceKeyOptions("late", "none"))
		b.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))
	})
}

// remove deletes an instance, and returns the status of the answer.
func (b bench) remove(id string, recursive bool) int {
	answer, _ := b.controller.DeleteResourceInstance(b.controller.NewDeleteResourceInstanceOptions(id).SetRecursive(recursive))
	return answer.StatusCode
}

// names of all instances of a list, from all its pages.
func (b bench) names(o *rc.ListResourceInstancesOptions) []string {
	pager, err := b.controller.NewResourceInstancesPager(o)
	b.Expect(err).NotTo(HaveOccurred())
	all, err := pager.GetAllWithContext(b.t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, i := range all {
		names = append(names, *i.Name)
	}
	return names
}

func (b bench) keysOf(instance string) []string {
	list, _, err := b.controller.ListResourceKeysForInstance(b.controller.NewListResourceKeysForInstanceOptions(instance))
	b.Expect(err).NotTo(HaveOccurred())
	ids := []string{}
	for _, k := range list.Resources {
		ids = append(ids, *k.GUID)
	}
	return ids
}
