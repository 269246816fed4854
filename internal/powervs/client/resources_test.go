package client_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestAccount_isThatOfTheToken(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.AccountID(b.t.Context())).To(Equal(sim.DefaultAccount))
		b.Expect(b.AccountID(b.t.Context())).To(Equal(sim.DefaultAccount))
		b.Expect(b.cloud.Calls()).To(Equal(map[string]int{"iam.createToken": 1}))
	})
}

func TestResourceGroups_areFoundByName(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		want := client.ResourceGroup{ID: group, Name: sim.DefaultResourceGroup}
		b.Expect(b.ResourceGroups(b.t.Context(), sim.DefaultResourceGroup)).To(ConsistOf(want))
		b.Expect(b.ResourceGroups(b.t.Context(), "")).To(ConsistOf(want))
		b.Expect(b.ResourceGroups(b.t.Context(), "other")).To(BeEmpty())
		b.Expect(b.ResourceGroup(b.t.Context(), group)).To(HaveValue(Equal(want)))
		b.Expect(errorOf(b.ResourceGroup(b.t.Context(), nothing))).To(beOf(fault.NotFound))
	})
}

func TestWorkspaces_fromCreationToReclamation(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		made := must(b.CreateInstance(ctx, client.InstanceRequest{
			Name: "demo", Plan: client.PlanPowerVS, Target: zone, ResourceGroupID: group,
		}))
		b.Expect(made.State).To(Equal(client.StateProvisioning))
		b.Expect(b.DeleteInstance(ctx, made.ID)).To(beOf(fault.Busy), "it is being made")
		b.pass(20 * time.Second)
		found := must(b.Instance(ctx, made.ID))
		b.Expect(*found).To(And(HaveField("State", client.StateActive), HaveField("Target", zone), HaveField("ResourceGroupID", group),
			HaveField("CRN", client.WorkspaceCRN(sim.DefaultAccount, client.Workspace{Zone: zone, ID: made.ID}))))
		b.Expect(b.Instances(ctx, client.PlanPowerVS, "demo")).To(ConsistOf(*found))
		b.Expect(b.Instances(ctx, client.PlanPowerVS, "")).To(ConsistOf(*found))
		b.Expect(b.Instances(ctx, client.PlanPowerVS, "dem")).To(BeEmpty())
		b.Expect(b.Instances(ctx, client.PlanCOS, "demo")).To(BeEmpty())

		b.Expect(b.DeleteInstance(ctx, made.ID)).To(Succeed())
		b.Expect(must(b.Instance(ctx, made.ID)).Deleting()).To(BeTrue())
		b.Expect(b.DeleteInstance(ctx, made.ID)).To(beOf(fault.Busy))
		b.pass(20 * time.Second)
		b.Expect(b.cloud.State()[sim.KindInstance]).To(ConsistOf(HaveField("Status", "pending_reclamation")))
		b.Expect(errorOf(b.Instance(ctx, made.ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteInstance(ctx, made.ID)).To(beOf(fault.NotFound))
		b.Expect(b.Instances(ctx, client.PlanPowerVS, "")).To(BeEmpty())
		b.pass(7 * 24 * time.Hour)
		b.Expect(b.cloud.State()[sim.KindInstance]).To(ConsistOf(HaveField("Status", "removed")))
		b.Expect(errorOf(b.Instance(ctx, made.ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteInstance(ctx, made.ID)).To(beOf(fault.NotFound))
		b.pass(time.Hour)
		b.Expect(b.DeleteInstance(ctx, made.ID)).To(beOf(fault.NotFound))
	})
}

func TestInstances_thatHaveFailedAreListedApart(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		b.Expect(b.cloud.SetOutcome(sim.Outcome{Kind: sim.KindInstance, Status: client.StateFailed})).To(Succeed())
		for range 2 {
			must(b.CreateInstance(ctx, client.InstanceRequest{Name: "demo", Plan: client.PlanPowerVS, Target: zone, ResourceGroupID: group}))
		}
		b.pass(time.Minute)
		b.Expect(b.Instances(ctx, client.PlanPowerVS, "demo")).To(ConsistOf(HaveField("State", client.StateActive)))
		b.Expect(b.FailedInstances(ctx, client.PlanPowerVS, "demo")).To(ConsistOf(HaveField("State", client.StateFailed)))
		b.Expect(b.FailedInstances(ctx, client.PlanPowerVS, "other")).To(BeEmpty())
	})
}

func TestInstances_areReadInPages(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for range 120 {
			must(b.CreateInstance(b.t.Context(), client.InstanceRequest{
				Name: "files", Plan: client.PlanCOS, Target: client.TargetGlobal, ResourceGroupID: group,
			}))
		}
		b.Expect(b.Instances(b.t.Context(), client.PlanCOS, "files")).To(HaveLen(120))
		b.Expect(b.cloud.Calls()).To(HaveKeyWithValue("resourcecontroller.listResourceInstances", 3))
	})
}

func TestWorkspaces_areLimitedAndNeedAGroup(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		request := client.InstanceRequest{Name: "demo", Plan: client.PlanPowerVS, Target: zone, ResourceGroupID: group}
		must(b.CreateInstance(b.t.Context(), request))
		b.Expect(errorOf(b.CreateInstance(b.t.Context(), request))).To(beOf(fault.Quota))
		request.Target = "mars1"
		b.Expect(errorOf(b.CreateInstance(b.t.Context(), request))).To(beOf(fault.Invalid))
	}, func(c *sim.Config) { c.Quotas.Workspaces = 1 })
}

func TestHMACKeys_areListedWithoutTheirSecrets(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		files := b.newInstance("files", client.PlanCOS, client.TargetGlobal)
		key := must(b.CreateHMACKey(ctx, files.ID, "demo"))
		b.Expect(key.Name).To(Equal("demo"))
		b.Expect(b.HMACKeys(ctx, files.ID)).To(ConsistOf(*key))
		b.Expect(b.HMACKey(ctx, key.ID)).To(HaveValue(Equal(*key)))

		workspace := b.newInstance("demo", client.PlanPowerVS, zone)
		must(b.CreateHMACKey(ctx, workspace.ID, "plain"))
		b.Expect(b.HMACKeys(ctx, workspace.ID)).To(BeEmpty(), "a key that can't sign isn't one")

		b.Expect(b.DeleteHMACKey(ctx, key.ID)).To(Succeed())
		b.Expect(b.DeleteHMACKey(ctx, key.ID)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.HMACKey(ctx, key.ID))).To(beOf(fault.NotFound))
		b.Expect(b.HMACKeys(ctx, files.ID)).To(BeEmpty())
		b.Expect(errorOf(b.HMACKeys(ctx, nothing))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.CreateHMACKey(ctx, nothing, "demo"))).To(beOf(fault.Invalid))

		must(b.CreateHMACKey(ctx, files.ID, "more"))
		b.Expect(b.DeleteInstance(ctx, files.ID)).To(Succeed(), "its keys go with it")
	})
}
