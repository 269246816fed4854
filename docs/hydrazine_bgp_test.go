package docs_test

import (
	_ "embed"
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/testenv"
)

//go:embed hydrazine-bgp.md
var bgpGuide string

func TestBGPGuide_itsExampleIsTaken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(bgpGuide, -1)
	g.Expect(blocks).To(HaveLen(1))
	object := &unstructured.Unstructured{}
	g.Expect(yaml.UnmarshalStrict([]byte(blocks[0][1]), &object.Object)).To(Succeed())
	c := client.WithFieldValidation(testenv.Client(t), metav1.FieldValidationStrict)
	g.Expect(c.Create(t.Context(), object)).To(Succeed())
}

func TestBGPGuide_namesTheMetrics(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	source, err := os.ReadFile("../internal/hydrazine/speaker/metrics.go")
	g.Expect(err).NotTo(HaveOccurred())
	names := regexp.MustCompile(`"(bedplate_[a-z_]+)"`)
	for _, match := range names.FindAllStringSubmatch(string(source), -1) {
		g.Expect(bgpGuide).To(ContainSubstring("`" + match[1] + "`"))
	}
	g.Expect(names.FindAllString(string(source), -1)).NotTo(BeEmpty())
}

func TestBGPGuide_namesWhatSessionsSay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var source string
	for _, file := range []string{"bgp/reason.go", "bgp/neighbor.go", "configuration.go"} {
		content, err := os.ReadFile("../internal/hydrazine/speaker/" + file)
		g.Expect(err).NotTo(HaveOccurred())
		source += string(content)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)`(?:, `([^`]+)`)? \\| [A-Z]").FindAllStringSubmatch(bgpGuide, -1)
	g.Expect(len(rows)).To(BeNumerically(">=", 6))
	for _, row := range rows {
		for _, words := range row[1:] {
			g.Expect(source).To(ContainSubstring(words))
		}
	}
}

func TestBGPGuide_namesTheFlags(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	source, err := os.ReadFile("../cmd/hydrazine-speaker/main.go")
	g.Expect(err).NotTo(HaveOccurred())
	flags := regexp.MustCompile(`Var\(&f\.\w+, "([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	g.Expect(flags).NotTo(BeEmpty())
	for _, flag := range flags {
		g.Expect(bgpGuide).To(ContainSubstring("`--" + flag[1] + "`"))
	}
}
