package docs_test

import (
	_ "embed"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agent"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

//go:embed hydrazine.md
var hydrazineGuide string

//go:embed hydrazine-services.md
var servicesGuide string

//go:embed hydrazine-certificates.md
var certificatesGuide string

//go:embed hydrazine-operations.md
var operationsGuide string

func TestHydrazineGuide_leadsToItsPages(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	readme, err := os.ReadFile("../README.md")
	g.Expect(err).NotTo(HaveOccurred())
	pages, err := filepath.Glob("hydrazine-*.md")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pages).NotTo(BeEmpty())
	for _, page := range pages {
		g.Expect(hydrazineGuide).To(ContainSubstring("](" + page))
		g.Expect(string(readme)).To(ContainSubstring("](docs/" + page))
	}
}

func TestHydrazineGuide_itsExamplesAreTaken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := client.WithFieldValidation(testenv.Client(t), metav1.FieldValidationStrict)
	namespace := testenv.Namespace(t)
	kinds := []string{}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(hydrazineGuide+servicesGuide, -1)
	for _, block := range blocks {
		for document := range strings.SplitSeq(block[1], "\n---\n") {
			object := &unstructured.Unstructured{}
			g.Expect(yaml.UnmarshalStrict([]byte(document), &object.Object)).To(Succeed())
			if object.GetNamespace() != "" {
				object.SetNamespace(namespace)
			}
			g.Expect(c.Create(t.Context(), object)).To(Succeed(), document)
			kinds = append(kinds, object.GetKind())
		}
	}
	g.Expect(kinds).To(HaveExactElements("ResourceGroup", "ManagedResource", "ResourceGroup", "ManagedResource",
		"ResourceGroup", "ManagedResource", "FabricPolicy", "PublicIP"))
}

// The command of the guide says what a DHCP server knows a group by.
func TestHydrazineGuide_findsTheCircuitID(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const uid = "7d1ecaa4-a492-4db1-b735-0aee63bd490f"
	network, err := topology.New(topology.Group{
		UID: uid, Name: "blue", Relayed: netip.MustParseAddr("172.19.0.10"),
		Networks: []topology.Network{{Prefix: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1")}},
	}, []topology.Member{{
		UID: "host", Name: "host", HostMAC: "02:00:0a:0a:0a:02", Chassis: "dpu1",
		Addresses: []topology.Address{{HostIP: netip.MustParseAddr("10.10.10.2")}},
	}}, topology.Site{})
	g.Expect(err).NotTo(HaveOccurred())
	relay, ok := network.Relay("dpu1")
	g.Expect(ok).To(BeTrue())

	command := regexp.MustCompile("(?m)^echo hz-.*$").FindString(servicesGuide)
	g.Expect(command).To(ContainSubstring("kubectl get resourcegroup blue"))
	shell := exec.CommandContext(t.Context(), "bash", "-c", "kubectl() { printf %s "+uid+"; }; "+command)
	said, err := shell.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	g.Expect(strings.TrimSpace(string(said))).To(Equal(relay.Interface))
}

func TestHydrazineGuide_itsDHCPServerIsTaken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	toolstest.Programs(t, "dhcpd")
	block := regexp.MustCompile("(?s)```\n(authoritative;.*?)```").FindStringSubmatch(servicesGuide)
	g.Expect(block).NotTo(BeNil())
	v6 := regexp.MustCompile("`(match if v6relay[^`]+)`").FindStringSubmatch(servicesGuide)
	g.Expect(v6).NotTo(BeNil())
	pool := regexp.MustCompile("`(pool {[^`]+})`").FindStringSubmatch(servicesGuide)
	g.Expect(pool).NotTo(BeNil())
	for version, config := range map[string]string{
		"-4": strings.Replace(block[1], "  default-lease-time", pool[1]+"\n  default-lease-time", 1),
		"-6": "class \"blue\" { " + v6[1] + " } subnet6 fd10::/64 { }",
	} {
		file := filepath.Join(t.TempDir(), "dhcpd.conf")
		g.Expect(os.WriteFile(file, []byte(config), 0o600)).To(Succeed())
		said, err := exec.CommandContext(t.Context(), "dhcpd", version, "-t", "-cf", file).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(said))
		g.Expect(string(said)).NotTo(MatchRegexp(`(?i)line \d+`), "it warns of a line")
	}
}

func TestHydrazineGuide_namesWhatUsersMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conditions := append(constants(g, "../api/hydrazine/resource/v1alpha1/conditions.go", regexp.MustCompile(`.`)),
		constants(g, "../api/hydrazine/networkfabric/v1alpha1/publicip_types.go", regexp.MustCompile(`Finalizer$`))...)
	g.Expect(conditions).To(ContainElements(resourcev1.ReadyCondition, resourcev1.ManagedResourceFinalizer))
	reasons := append(constants(g, "../internal/hydrazine/controller/conditions.go", regexp.MustCompile(`^reason`)),
		constants(g, "../internal/hydrazine/membership/membership.go", regexp.MustCompile(`^Reason`))...)
	g.Expect(reasons).To(ContainElements("Isolating", "PoolExhausted", "RelayProblem", membership.ReasonAddressTaken))
	var values []string
	for _, file := range []string{"managedresource", "resourcegroup", "securitygroup"} {
		values = append(values, constants(g, "../api/hydrazine/resource/v1alpha1/"+file+"_types.go", regexp.MustCompile(`.`))...)
	}
	g.Expect(values).To(ContainElements("PublicAccess", "Software", "Ingress"))

	agentFlags := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&agent.Options{}).AddFlags(agentFlags)
	var flags []string
	agentFlags.VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
	for _, file := range []string{"main.go", "centrals.go"} {
		source, err := os.ReadFile("../cmd/hydrazine-manager/" + file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, match := range regexp.MustCompile(`Var\(&f\.\w+, "([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
			flags = append(flags, "--"+match[1])
		}
	}
	g.Expect(flags).To(ContainElements("--uplink", "--lease", "--centrals-address"))

	all := hydrazineGuide + servicesGuide + certificatesGuide + operationsGuide
	for kind, words := range map[string][]string{
		"condition or finalizer": conditions, "reason": reasons, "flag": flags, "value of a field": values,
	} {
		for _, word := range words {
			if !strings.Contains(all, "`"+word+"`") && !strings.Contains(all, ": "+word) {
				t.Errorf("no page of Hydrazine names the %s `%s`", kind, word)
			}
		}
	}
}
