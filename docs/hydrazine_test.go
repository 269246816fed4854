package docs_test

import (
	_ "embed"
	"os"
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
	"github.com/bedplate/bedplate/internal/testenv"
)

//go:embed hydrazine.md
var hydrazineGuide string

func TestHydrazineGuide_itsExampleIsTaken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := client.WithFieldValidation(testenv.Client(t), metav1.FieldValidationStrict)
	namespace := testenv.Namespace(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(hydrazineGuide, -1)
	g.Expect(blocks).To(HaveLen(1))
	kinds := []string{}
	for document := range strings.SplitSeq(blocks[0][1], "\n---\n") {
		object := &unstructured.Unstructured{}
		g.Expect(yaml.UnmarshalStrict([]byte(document), &object.Object)).To(Succeed())
		object.SetNamespace(namespace)
		g.Expect(c.Create(t.Context(), object)).To(Succeed())
		kinds = append(kinds, object.GetKind())
	}
	g.Expect(kinds).To(HaveExactElements("ResourceGroup", "ManagedResource"))
}

func TestHydrazineGuide_namesWhatUsersMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conditions := constants(g, "../api/hydrazine/resource/v1alpha1/conditions.go", regexp.MustCompile(`.`))
	g.Expect(conditions).To(ContainElements(resourcev1.ReadyCondition, resourcev1.ManagedResourceFinalizer))
	reasons := append(constants(g, "../internal/hydrazine/controller/conditions.go", regexp.MustCompile(`^reason`)),
		constants(g, "../internal/hydrazine/membership/membership.go", regexp.MustCompile(`^Reason`))...)
	g.Expect(reasons).To(ContainElements("Isolating", membership.ReasonAddressTaken))
	values := append(constants(g, "../api/hydrazine/resource/v1alpha1/managedresource_types.go", regexp.MustCompile(`.`)),
		constants(g, "../api/hydrazine/resource/v1alpha1/resourcegroup_types.go", regexp.MustCompile(`.`))...)
	g.Expect(values).To(ContainElements("PublicAccess", "Software"))

	agentFlags := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&agent.Options{}).AddFlags(agentFlags)
	var flags []string
	agentFlags.VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
	main, err := os.ReadFile("../cmd/hydrazine-manager/main.go")
	g.Expect(err).NotTo(HaveOccurred())
	for _, match := range regexp.MustCompile(`Var\(&f\.\w+, "([^"]+)"`).FindAllStringSubmatch(string(main), -1) {
		flags = append(flags, "--"+match[1])
	}
	g.Expect(flags).To(ContainElements("--uplink", "--lease", "--centrals-address"))

	for kind, words := range map[string][]string{
		"condition or finalizer": conditions, "reason": reasons, "flag": flags, "value of a field": values,
	} {
		for _, word := range words {
			if !strings.Contains(hydrazineGuide, "`"+word+"`") && !strings.Contains(hydrazineGuide, ": "+word) {
				t.Errorf("hydrazine.md doesn't name the %s `%s`", kind, word)
			}
		}
	}
}
