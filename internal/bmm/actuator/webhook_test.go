package actuator_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// machineSet that isn't there yet.
func (f *fixture) machineSet(name string, replicas int32) *machinev1.MachineSet {
	labels := map[string]string{machinev1.MachineClusterIDLabel: "demo", "machine.openshift.io/cluster-api-machineset": name}
	return &machinev1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name},
		Spec: machinev1.MachineSetSpec{
			Replicas: &replicas, Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: machinev1.MachineTemplateSpec{
				ObjectMeta: machinev1.ObjectMeta{Labels: labels},
				Spec:       machinev1.MachineSpec{ProviderSpec: machinev1.ProviderSpec{Value: raw(f.spec())}},
			},
		},
	}
}

const someID = "a0000000-0000-4000-8000-000000000001"

// The rules are those of an NvidiaBMMMachine, so it is enough to see one of each sort, and those that only a provider spec has.
func TestWebhook_refusesWhatCantBecomeAnInstance(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	for name, row := range map[string]struct {
		// text is put for another into the JSON of a valid provider spec.
		text, by string
		message  string
	}{
		"no kind":           {`"kind":"NvidiaBMMMachineProviderSpec",`, ``, `value.kind: Unsupported value: null: supported values: "NvidiaBMMMachineProviderSpec"`},
		"another kind":      {`"kind":"NvidiaBMMMachineProviderSpec",`, `"kind":"NvidiaBmmMachine",`, `value.kind: Unsupported value: "NvidiaBmmMachine"`},
		"another version":   {`dev/v1beta1"`, `dev/v1"`, `value.apiVersion: Unsupported value: "machine.bmm.bedplate.dev/v1": supported values: "machine.bmm.bedplate.dev/v1beta1"`},
		"an unknown field":  {`"siteRef"`, `"vpcName":"net","siteRef"`, `value.vpcName: Forbidden: there is no such field`},
		"a misspelt field":  {`"instanceType":{"id"`, `"instanceType":{"ID"`, `value.instanceType.ID: Forbidden: there is no such field`},
		"a list for a text": {`"tenantID":"` + sim.DefaultTenantID + `"`, `"tenantID":["x"]`, `value.tenantID: Invalid value: "array": tenantID in body must be of type string`},
		"no site":           {`"siteRef":{"name":"site-1"},`, ``, `value.siteRef: Required value`},
		"a site twice":      {`"siteRef":{`, `"siteRef":{"id":"` + someID + `",`, `value.siteRef: Invalid value: exactly one of name and id must be set`},
		"no tenant":         {`"tenantID":"` + sim.DefaultTenantID + `",`, ``, `value.tenantID: Required value`},
		"a VPC's name":      {`"vpcID":"` + f.vpc, `"vpcID":"net`, `value.vpcID: Invalid value: "net": vpcID in body should match`},
		"no credentials":    {`"credentialsSecret":{"name":"bmm"},`, ``, `value.credentialsSecret: Required value`},
		"another namespace": {`"credentialsSecret":{`, `"credentialsSecret":{"namespace":"kube-system",`, `value.credentialsSecret.namespace: Forbidden: there is no such field`},
		"no user data":      {`"userDataSecret":{"name":"worker-user-data"},`, ``, `value.userDataSecret: Required value`},
		"no operating system": {`"operatingSystem":{"id":"` + sim.DefaultOperatingSystemID + `"}`, `"operatingSystem":{}`,
			`value.operatingSystem: Invalid value: exactly one of id and ipxeScript must be set`},
		"a subnet and a prefix": {`"siteRef"`, `"network":{"subnetName":"a","vpcPrefixName":"b"},"siteRef"`,
			`value.network: Invalid value: an interface is either in a subnet or in a VPC prefix: remove subnetName or vpcPrefixName`},
		"a group twice": {`"siteRef"`, `"sshKeyGroups":["` + someID + `","` + someID + `"],"siteRef"`, `value.sshKeyGroups[1]: Duplicate value`},
		"our own label": {`"siteRef"`, `"labels":{"bedplate-key":"x"},"siteRef"`, `value.labels: Invalid value: labels that begin with bedplate- are reserved`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			valid := string(raw(f.spec()).Raw)
			g.Expect(valid).To(ContainSubstring(row.text))
			bad := machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(strings.Replace(valid, row.text, row.by, 1))}}
			m := f.machine("bad")
			m.Spec.ProviderSpec = bad
			g.Expect(f.Client.Create(t.Context(), m)).To(MatchError(ContainSubstring("spec.providerSpec." + row.message)))
			s := f.machineSet("bad", 1)
			s.Spec.Template.Spec.ProviderSpec = bad
			g.Expect(f.Client.Create(t.Context(), s)).To(MatchError(ContainSubstring("spec.template.spec.providerSpec." + row.message)))
		})
	}
}

func TestWebhook_namesAllProblems(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	m := f.machine("bad", func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.TenantID, s.VPCID, s.InstanceType.ID = "x", "y", "z" })
	m.Spec.ProviderSpec.Value.Raw = []byte(strings.Replace(string(m.Spec.ProviderSpec.Value.Raw), `"vpcID"`, `"colour":{},"vpcID"`, 1))
	f.Expect(f.Client.Create(t.Context(), m)).To(MatchError(And(
		HavePrefix(`admission webhook "validation.machine.machine.bmm.bedplate.dev" denied the request: Machine.machine.openshift.io "bad" is invalid: [`),
		ContainSubstring("value.tenantID"), ContainSubstring("value.vpcID"), ContainSubstring("value.instanceType.id"),
		ContainSubstring("value.colour: Forbidden: there is no such field"))))
}

// Names of instances have at least two characters.
func TestWebhook_refusesANameOfOneLetter(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	f.Expect(f.Client.Create(t.Context(), f.machine("a"))).To(MatchError(ContainSubstring(`metadata.name: Invalid value: "a": the instance gets this name`)))
	f.Create(f.machine("ab"))
	f.Create(f.machineSet("a", 0))
}

func TestWebhook_takesWhatIsRight(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	f.Create(f.machineSet("workers", 0))
	f.createMachine("everything", func(s *bmmv1.NvidiaBMMMachineProviderSpec) {
		s.SiteRef = infrav1.SiteReference{ID: sim.DefaultSiteID}
		s.Network.SubnetName = "nodes"
		s.Network.AdditionalInterfaces = []infrav1.NetworkInterface{{SubnetName: "storage"}}
		s.InfiniBandInterfaces = []infrav1.InfiniBandInterface{{PartitionID: someID, Device: "card"}}
		s.InstanceSpec.Labels = infrav1.ResourceLabels{"team": "a"}
	})
	for name, text := range map[string]string{ // as OpenShift's own tools write it
		"null":  `{"metadata":{"creationTimestamp":null},"apiVersion"`,
		"plain": `{"metadata":{},"apiVersion"`,
	} {
		m := f.machine("metadata-" + name)
		m.Spec.ProviderSpec.Value.Raw = []byte(strings.Replace(string(m.Spec.ProviderSpec.Value.Raw), `{"kind"`, strings.Replace(text, "apiVersion", "kind", 1), 1))
		f.Create(m)
	}
}

func TestWebhook_aUsedProviderSpecStays(t *testing.T) {
	t.Parallel()
	f := start(t)
	change := func(m *machinev1.Machine, change func(*bmmv1.NvidiaBMMMachineProviderSpec)) error {
		var err error
		f.Eventually(func(g Gomega) {
			g.Expect(f.Read(m)).To(Succeed())
			spec := f.spec()
			change(spec)
			m.Spec.ProviderSpec.Value = raw(spec)
			err = f.Client.Update(t.Context(), m)
			g.Expect(fmt.Sprint(err)).NotTo(ContainSubstring("the object has been modified"))
		}).Should(Succeed())
		return err
	}
	m := f.ready("worker-1")
	f.Expect(change(m, func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.Network.SubnetName = "other" })).To(MatchError(ContainSubstring(
		"spec.providerSpec.value: Forbidden: the instance was made with it, and only credentialsSecret can be changed: make another Machine")))
	f.Expect(change(m, func(s *bmmv1.NvidiaBMMMachineProviderSpec) {
		s.APIVersion, s.Kind = "machine.openshift.io/v1beta1", "AWSMachineProviderConfig"
	})).To(MatchError(ContainSubstring("make another Machine")), "nor can it become another provider's")
	f.Expect(change(m, func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.PhoneHomeEnabled = ptr.To(false) })).To(Succeed(), "which is the default")
	f.Create(f.Secret("other"))
	f.Expect(change(m, func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.CredentialsSecret.Name = "other" })).To(Succeed())
	bmmtest.Change(f.Fixture, m, func(m *machinev1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, "a", "b") })

	new := f.createMachine("new", func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.UserDataSecret.Name = "nothing" })
	f.untilSays(new, bmmv1.UserDataReadyCondition, "nothing")
	f.Expect(change(new, func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.Network.SubnetName = "nodes" })).To(Succeed(), "nothing was made yet")
	f.untilReady(new)

	set := f.machineSet("workers", 0)
	f.Create(set)
	spec := f.spec()
	spec.Network.SubnetName = "other"
	set.Spec.Template.Spec.ProviderSpec.Value = raw(spec)
	f.Expect(f.Client.Update(t.Context(), set)).To(Succeed(), "that is for Machines to come")
}

// An API server doesn't call the webhook for them, so they can be written while it is down.
func TestWebhook_lacksOpinionsOnOtherProviders(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	for name, text := range map[string]string{"aws": `{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","x":1}`, "empty": `{}`} {
		m := f.machine("foreign-" + name)
		m.Spec.ProviderSpec.Value.Raw = []byte(text)
		f.Create(m)
		bmmtest.Change(f.Fixture, m, func(m *machinev1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, "a", "b") })
	}
	m := f.machine("foreign-none")
	m.Spec.ProviderSpec.Value = nil
	f.Create(m)
}
