package docs_test

import (
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	"github.com/bedplate/bedplate/internal/bmm/cloudprovider"
	"github.com/bedplate/bedplate/internal/machineapi"
)

//go:embed bmm-nodes.md
var nodesGuide string

// block is the YAML block of the guide of the nodes that has some text in it.
func block(g Gomega, text string) string {
	for _, match := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(nodesGuide, -1) {
		if strings.Contains(match[1], text) {
			return match[1]
		}
	}
	g.Expect(nodesGuide).To(ContainSubstring(text), "in a YAML block")
	return ""
}

func TestNodesGuide_itsExamplesAreTaken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	g.Expect(os.WriteFile(file, []byte(block(g, "credentials: /etc/bmm")), 0o600)).To(Succeed())
	config, err := cloudprovider.ReadConfig(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Site.Name).To(Equal("site-1"))
	g.Expect(os.WriteFile(file, []byte(block(g, "published:")), 0o600)).To(Succeed())
	config, err = cloudprovider.ReadConfig(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Published).To(BeTrue())

	set := &machinev1.MachineSet{}
	g.Expect(yaml.UnmarshalStrict([]byte(block(g, "kind: MachineSet")), set)).To(Succeed())
	specs, err := providerspec.NewReader()
	g.Expect(err).NotTo(HaveOccurred())
	spec, problems := specs.Read(t.Context(), field.NewPath("value"), set.Spec.Template.Spec.ProviderSpec)
	g.Expect(problems).To(BeEmpty())
	g.Expect(spec.Network.SubnetName).To(Equal("nodes"))
}

func TestNodesGuide_namesWhatUsersMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	reasons := constants(g, "../internal/bmm/cloudprovider/problems.go", regexp.MustCompile(`^Reason`))
	g.Expect(reasons).To(ContainElement(cloudprovider.ReasonOtherSite))
	for kind, words := range map[string][]string{
		"reason of an event": reasons,
		"phase": {
			machinev1.PhaseProvisioning, machinev1.PhaseProvisioned, machinev1.PhaseRunning, machinev1.PhaseDeleting, machinev1.PhaseFailed,
		},
		"condition": append(
			constants(g, "../api/bmm/machine/v1beta1/conditions.go", regexp.MustCompile(`Condition$`)),
			string(machinev1.InstanceExistsCondition), string(machinev1.MachineDrainable), string(machinev1.MachineDrained),
			string(machinev1.MachineTerminable), string(machineapi.PausedCondition)),
		"label":      {cloudprovider.LabelMachine, cloudprovider.LabelNVLinkDomain, machineapi.RegionLabel, machineapi.ZoneLabel, machineapi.InstanceTypeLabel},
		"annotation": {machineapi.InstanceStateAnnotation, machineapi.ExcludeNodeDrainingAnnotation},
	} {
		g.Expect(words).NotTo(BeEmpty(), kind)
		for _, word := range words {
			if !strings.Contains(nodesGuide, "`"+word+"`") && word != cloudprovider.ReasonInstance {
				t.Errorf("bmm-nodes.md doesn't name the %s `%s`", kind, word)
			}
		}
	}
}
