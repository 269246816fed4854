package provider_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/provider"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// published is what the manifests of the existing provider take for granted: their zones and regions, a resource group, keys, and for
// plain.yaml a workspace.
func published(c *sim.Config) {
	edge, systems := map[string]bool{sim.EdgeRouter: true}, c.Zones[0].SystemTypes
	c.Zones = append(c.Zones, sim.Zone{Name: "wdc06", Region: "us-east", Capabilities: edge, SystemTypes: systems},
		sim.Zone{Name: "mad02", Region: "eu-es", Capabilities: edge, SystemTypes: systems})
	c.Regions = append(sim.DefaultRegions(), sim.Region{Name: "us-east", Zones: []string{"us-east-1", "us-east-2", "us-east-3"}},
		sim.Region{Name: "eu-es", Zones: []string{"eu-es-1", "eu-es-2", "eu-es-3"}})
	c.ResourceGroups = append(c.ResourceGroups, sim.ResourceGroup{ID: "0be5ad401ae913d8ff665d92680664ed", Name: "ibm-resource-group"})
	c.SSHKeys = append(c.SSHKeys, "my-ssh-key", "my-pub-key")
	c.Instances = append(c.Instances, sim.Instance{
		ID: "3229a94c-af54-4212-bf60-6202b6fd0a07", Name: "power", Plan: sim.PlanPower, Target: sim.DefaultZone,
		Networks: []sim.Network{{ID: powervstest.NetworkID, Name: "capi-test", CIDR: "192.168.200.0/24"}},
		Images: []sim.Image{{ID: powervstest.ImageID, Name: "capibm-powervs-centos-streams10-1-34-7"},
			{ID: "8a2b5e6d-1f5f-4a57-9c4f-6d7a4be1c001", Name: "another"}},
	})
}

// What users have written for the existing provider gets ready as it is, with the default credentials: clusters, and a machine of each
// template. IDs have to be those of the account.
func TestManifests_ofTheExistingProviderBecomeReady(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create-infra", "by-name", "by-id", "plain", "ignition"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.StartCloud(t, published)
			f.Create(f.Secret("login"))
			f.Run(powervstest.Poll, powervstest.Settle, func(
				ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, options controller.Options,
			) error {
				login := types.NamespacedName{Namespace: f.Namespace, Name: "login"}
				return provider.Setup(ctx, mgr, engine, provider.Config{Change: f.Paced(powervstest.Poll), Credentials: login}, options)
			})
			text, err := os.ReadFile(filepath.Join("..", "webhook", "testdata", name+".yaml"))
			f.Expect(err).NotTo(HaveOccurred())
			manifests := strings.ReplaceAll(string(text), "10.251.64.0/24", "10.243.64.0/24") // the simulator's prefix of eu-es-2 is another
			if name == "by-id" {
				manifests = ofTheAccount(f).Replace(manifests)
			}
			cluster, templates := applied(f, manifests)
			f.UntilReady(cluster)
			for _, template := range templates {
				if name == "by-id" { // the account has no image of its ID
					continue
				}
				f.UntilProvisioned(f.CreateMachine(cluster.Name, template.Name, []byte("#cloud-config"), func(m *infrav1.IBMPowerVSMachine) {
					m.Spec = template.Spec.Template.Spec
				}))
			}
		})
	}
}

// applied applies manifests as Cluster API would own them.
func applied(f *powervstest.Fixture, text string) (cluster *infrav1.IBMPowerVSCluster, templates []*infrav1.IBMPowerVSMachineTemplate) {
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		f.Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(Succeed())
		object.SetNamespace(f.Namespace)
		if object.GetKind() == "IBMPowerVSCluster" {
			cluster = &infrav1.IBMPowerVSCluster{}
			f.Expect(yaml.Unmarshal([]byte(document), cluster)).To(Succeed())
			owned := f.NewCluster(cluster.Name)
			cluster.Namespace, cluster.OwnerReferences = f.Namespace, owned.OwnerReferences
			f.Create(cluster)
			continue
		}
		f.Create(object)
		if object.GetKind() == "IBMPowerVSMachineTemplate" {
			template := &infrav1.IBMPowerVSMachineTemplate{}
			f.Expect(yaml.Unmarshal([]byte(document), template)).To(Succeed())
			templates = append(templates, template)
		}
	}
	return cluster, templates
}

// ofTheAccount replaces the IDs of by-id.yaml.
func ofTheAccount(f *powervstest.Fixture) *strings.Replacer {
	own, api, ctx := f.MakeOwn(), f.API(), context.Background()
	servers, err := api.DHCPServers(ctx, ibm.Workspace{Zone: sim.DefaultZone, ID: own.Workspace})
	f.Expect(err).NotTo(HaveOccurred())
	second, err := api.CreateSubnet(ctx, powervstest.Region, ibm.SubnetRequest{
		Name: "second", VPCID: own.VPC, Zone: powervstest.Region + "-2", ResourceGroupID: sim.DefaultResourceGroupID,
	})
	f.Expect(err).NotTo(HaveOccurred())
	return strings.NewReplacer(
		"10e1ed34-2d4b-4d0a-9cf6-2a4a6c9f1c2d", own.Workspace, "daf2b616-542b-47ed-8cec-ceaec1e90f4d", own.Network,
		"5a2b0d7e-7b57-4d5f-a6c1-0c6f0c6d9e11", servers[0].ID, "r006-8e4e6b2a-8d5b-4bd6-bc8e-4a5a7c6e6f10", own.VPC,
		"0717-7ec86020-1c6e-4889-b3f0-a15f2e50f87e", own.Subnet, "0727-1ab23c45-1c6e-4889-b3f0-a15f2e50f87e", second.ID,
		"r006-2d4b4d0a-9cf6-2a4a-6c9f-1c2d10e1ed34", own.Group, "a6c10c6f-0c6d-9e11-5a2b-0d7e7b574d5f", own.Gateway,
		"r006-dd754295-e9e0-4c9d-bf6c-58fbc59e5727", own.Balancer,
	)
}
