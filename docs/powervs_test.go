package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	powervsv1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	powervsconfig "github.com/bedplate/bedplate/config/powervs"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
)

// powervsReasons are those of the engine and of the controllers of powervs.
func powervsReasons(g Gomega) []string {
	reasons := reasonsIn(g, "../internal/graph", "../internal/graph/decide", "../internal/graph/phases",
		"../internal/powervs/cluster", "../internal/powervs/machine", "../internal/powervs/image")
	return slices.DeleteFunc(reasons, func(reason string) bool {
		return reason == "Stale" || // never shown
			reason == "Repairing" || reason == "StayingAway" // of services that need remedies, or bring back what was deleted
	})
}

func TestPowerVSGuide_namesWhatUsersMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conditions := constants(g, "../api/powervs/v1beta2/conditions.go", regexp.MustCompile(`Condition$`))
	g.Expect(conditions).To(ContainElements(powervsv1.ZoneReadyCondition, powervsv1.ImageImportedCondition))
	reasons := powervsReasons(g)
	g.Expect(reasons).To(ContainElements("Settling", "NoEndpoint", "NotOffered"))
	services := constants(g, "../internal/powervs/client/service.go", regexp.MustCompile(`^Service`))
	g.Expect(services).To(ContainElements(string(ibm.ServiceIAM), string(ibm.ServiceCOS)))
	keys := []string{ibm.SecretKeyAPIKey, ibm.SecretKeyCA}
	for _, service := range services {
		keys = append(keys, service+"Endpoint")
	}
	source, err := os.ReadFile("../cmd/powervs-manager/main.go")
	g.Expect(err).NotTo(HaveOccurred())
	var flags []string
	for _, match := range regexp.MustCompile(`Flags\(\)\.\w*Var\([^"]+"([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		flags = append(flags, "--"+match[1])
	}
	g.Expect(flags).To(ConsistOf("--service-endpoint", "--default-credentials", "--feature-gates"))

	for kind, words := range map[string][]string{
		"condition":       append(conditions, clusterv1.PausedCondition),
		"class of faults": constants(g, "../internal/fault/fault.go", regexp.MustCompile(`.`)),
		"reason":          append(reasons, clusterv1.PausedReason, clusterv1.NotPausedReason),
		"flag":            flags,
		"service":         services,
		"key of a Secret": keys,
		"finalizer":       {powervsv1.ClusterFinalizer, powervsv1.MachineFinalizer, powervsv1.ImageFinalizer, cluster.SecretFinalizer},
		"annotation":      {clusterv1.ManagedByAnnotation, clusterv1.PausedAnnotation},
		"field of a status": slices.Concat(statusOf(powervsv1.IBMPowerVSClusterStatus{}), statusOf(powervsv1.IBMPowerVSMachineStatus{}),
			statusOf(powervsv1.IBMPowerVSImageStatus{}), statusOf(powervsv1.IBMPowerVSMachineTemplateStatus{}),
			statusOf(powervsv1.TransitGatewayStatus{})[2:], statusOf(powervsv1.VPCSecurityGroupStatus{})[1:2],
			statusOf(powervsv1.VPCLoadBalancerStatus{})[1:3], statusOf(powervsv1.ResourceReference{})),
	} {
		g.Expect(words).NotTo(BeEmpty(), kind)
		for _, word := range words {
			if !strings.Contains(powervsGuide, "`"+word+"`") {
				t.Errorf("powervs.md doesn't name the %s `%s`", kind, word)
			}
		}
	}
	for _, annotation := range []string{powervsv1.CreateInfraAnnotation, powervsv1.TakeOverAnnotation} {
		g.Expect(powervsGuide).To(ContainSubstring("`" + annotation + `: "true"` + "`"))
	}
	shown := &powervsv1.IBMPowerVSCluster{}
	shown.Name = "<cluster>"
	for _, name := range []string{
		shown.WorkspaceName(), shown.VPCName(), shown.SubnetNameIn("<zone>"), shown.TransitGatewayName(), shown.DefaultLoadBalancerName(),
	} {
		g.Expect(powervsGuide).To(ContainSubstring("`" + name + "`"))
	}
}

// statusOf are the names of a status' fields.
func statusOf(status any) (names []string) {
	of := reflect.TypeOf(status)
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestPowerVSGuide_hasAllValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	values := map[string]bool{}
	files, err := fs.Glob(powervsconfig.CRDs, "crd/bases/infrastructure*s.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		data, err := fs.ReadFile(powervsconfig.CRDs, file)
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.UnmarshalStrict(data, crd)).To(Succeed())
		enums(values, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	}
	g.Expect(values).To(And(HaveKey("s1022"), HaveKey("weighted_round_robin"), HaveKey("tier3")))
	for _, value := range slices.Sorted(maps.Keys(values)) {
		if !regexp.MustCompile(`\W` + regexp.QuoteMeta(value) + `\W`).MatchString(powervsGuide) {
			t.Errorf("powervs.md doesn't have the value %s", value)
		}
	}
}

// enums notes every value that a schema lists.
func enums(values map[string]bool, schema apiextensionsv1.JSONSchemaProps) {
	for _, value := range schema.Enum {
		if text := strings.Trim(string(value.Raw), `"`); text != "" {
			values[text] = true
		}
	}
	for _, field := range schema.Properties {
		enums(values, field)
	}
	if schema.Items != nil {
		enums(values, *schema.Items.Schema)
	}
}

func TestMetrics_haveTheOperationsOfIBMCloud(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, table, _ := strings.Cut(metricsGuide, "### Calls of IBM Cloud\n")
	table, _, found := strings.Cut(table, "\n##")
	g.Expect(found).To(BeTrue())
	files, err := filepath.Glob("../internal/powervs/client/*.go")
	g.Expect(err).NotTo(HaveOccurred())
	operations, form := map[string]bool{"log in": true}, regexp.MustCompile(`"((?:create|delete|get|head|import|list|move|put) [A-Za-z ]+)"`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, match := range form.FindAllStringSubmatch(string(source), -1) {
			if !strings.HasSuffix(file, "_test.go") {
				operations[match[1]] = true
			}
		}
	}
	var listed []string
	for _, match := range regexp.MustCompile("`([a-z][A-Za-z ]+)`[,| ]").FindAllStringSubmatch(table, -1) {
		listed = append(listed, match[1])
	}
	g.Expect(listed).To(ConsistOf(slices.Collect(maps.Keys(operations))))
}
