package actuator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/optest"
)

func TestOperations_openshiftMachine(t *testing.T) {
	t.Parallel()
	const vpc, group = "00000000-0000-4000-8000-00000000cafe", "00000000-0000-4000-8000-00000000f00d"
	definition := &apiextensionsv1.CustomResourceDefinition{}
	NewWithT(t).Expect(yaml.UnmarshalStrict(bmmv1.ProviderSpecCRD, definition)).To(Succeed())
	const in = "providerSpec.value."
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := start(t)
			f.vpc = f.Make(sim.Object{Kind: sim.KindVPC, ID: vpc, Request: bmm.VPCCreateRequest{
				Name: "operated", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer,
			}})
			f.subnet("operated")
			f.Make(sim.Object{Kind: sim.KindNetworkSecurityGroup, ID: group, Request: bmm.NetworkSecurityGroupCreateRequest{
				Name: "users", SiteID: sim.DefaultSiteID,
			}})
			f.Create(f.Secret("another"))
			w := f.World(f.machine("worker-1"))
			w.Conditions = []string{"status", "providerStatus", "conditions"}
			return w
		},
		Parts:   map[string]*apiextensionsv1.JSONSchemaProps{"providerSpec.value": definition.Spec.Versions[0].Schema.OpenAPIV3Schema},
		Except:  []string{"lifecycleHooks"}, // deletions wait for these
		Written: []string{"providerID"},
		Values: map[string][]any{
			in + "apiVersion": {bmmv1.GroupVersion.String()}, in + "kind": {bmmv1.ProviderSpecKind},
			in + "siteRef.name": {"site-1"}, in + "siteRef.id": {sim.DefaultSiteID}, in + "tenantID": {sim.DefaultTenantID}, in + "vpcID": {vpc},
			in + "credentialsSecret.name": {"bmm", "another"}, in + "userDataSecret.name": {"worker-user-data"},
			in + "instanceType.id": {sim.DefaultInstanceTypeID}, in + "instanceType.machineID": {"fm100ht000000000000000000000000000003"},
			in + "operatingSystem.id": {sim.DefaultOperatingSystemID}, in + "network.subnetName": {"operated"},
			in + "network.networkSecurityGroupID": {group}, in + "sshKeyGroups[]": {sim.DefaultSSHKeyGroupID},
		},
	}.Run(t)
}
