package docs_test

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	dpfconfig "github.com/bedplate/bedplate/config/dpf"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/journal"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/testenv"
)

//go:embed dpf.md
var dpfGuide string

const (
	dpfConditions = "../api/dpf/operator/v1alpha1/conditions.go"
	svcConditions = "../api/dpf/svc/v1alpha1/conditions.go"
)

func TestDPFGuide_namesWhatUsersMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	source, err := os.ReadFile(dpfConditions)
	g.Expect(err).NotTo(HaveOccurred())
	declared := regexp.MustCompile(`\bNodePhase = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	g.Expect(declared).To(HaveLen(len(operatorv1.NodePhases)))
	for _, phase := range operatorv1.NodePhases {
		g.Expect(dpfGuide).To(ContainSubstring("\n| `"+string(phase)+"` | "), "the row of a phase")
	}
	reasons := append(constants(g, dpfConditions, regexp.MustCompile(`^Reason`)), constants(g, svcConditions, regexp.MustCompile(`^Reason`))...)
	g.Expect(reasons).To(ContainElements(operatorv1.ReasonFailure, svcv1.ReasonAwaitingDeletion))
	conditions := slices.Concat(constants(g, dpfConditions, regexp.MustCompile(`Condition$`)),
		constants(g, svcConditions, regexp.MustCompile(`Condition$`)),
		constants(g, "../api/dpf/svc/v1alpha1/node_conditions.go", regexp.MustCompile(`Condition$`)))
	g.Expect(conditions).To(ContainElements(operatorv1.RestoredCondition, svcv1.ApplicationsReadyCondition, svcv1.ServiceChainReconciledCondition))

	for kind, words := range map[string][]string{
		"condition": conditions,
		"reason":    reasons,
		"flag":      flagsIn(g, "../cmd/dpf-manager/main.go"),
		"interface": constants(g, "../api/dpf/svc/v1alpha1/interface_types.go", regexp.MustCompile(`^Interface[A-Z]`)),
		"name": {operatorv1.Finalizer, operatorv1.Namespace, operatorv1.Name, journal.Label, components.ParentName,
			operatorv1.NetworkMovedLabel, operatorv1.NetworkPreconfigReadyLabel, operatorv1.NetworkNotReadyTaint + ":NoSchedule",
			operatorv1.DPUEnabledLabel + "=true", operatorv1.ChassisIDAnnotation, svcv1.AbandonAnnotation + `: "true"`, svcv1.ServiceIDLabel},
	} {
		g.Expect(words).NotTo(BeEmpty(), kind)
		for _, word := range words {
			if !strings.Contains(dpfGuide, "`"+word+"`") {
				t.Errorf("dpf.md doesn't name the %s `%s`", kind, word)
			}
		}
	}
	g.Expect(dpfGuide).To(ContainSubstring(operatorv1.AbandonAnnotation + "=true"))
}

func flagsIn(g Gomega, file string) (flags []string) {
	source, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	for _, match := range regexp.MustCompile(`Flags\(\)\.\w*Var\([^"]+"([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		flags = append(flags, "--"+match[1])
	}
	return flags
}

// The tables of prerequisites and of components are those of the code, row by row and in its order.
func TestDPFGuide_hasTheTablesOfTheCode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var prerequisites, parts []string
	for _, p := range preflight.Table {
		holdsUp := "everything"
		switch {
		case p.Warning:
			holdsUp = "nothing"
		case p.Network:
			holdsUp = "the network"
		}
		prerequisites = append(prerequisites, fmt.Sprintf("| %s | %s | %s | %s |\n", p.Name, p.Detected, p.Remedy, holdsUp))
	}
	for _, c := range components.Table {
		image, place := "`"+c.Image+"`", string(c.Place)
		if c.Image == "" {
			image = "the cluster's own"
		}
		if c.Network {
			place += ", the network's"
		}
		parts = append(parts, fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", c.Key, place, image, c.Owner, c.Does))
	}
	for _, table := range [][]string{prerequisites, parts} {
		g.Expect(dpfGuide).To(ContainSubstring("|---|\n" + strings.Join(table, "") + "\n"))
	}
}

// Every field of every kind is named, or set in an example.
func TestDPFGuide_hasEveryField(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files, err := fs.Glob(dpfconfig.CRDs, "crd/bases/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(9))
	fields := map[string]bool{}
	for _, file := range files {
		data, err := fs.ReadFile(dpfconfig.CRDs, file)
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.UnmarshalStrict(data, crd)).To(Succeed())
		g.Expect(dpfGuide).To(ContainSubstring("`"+crd.Spec.Names.Kind+"`"), "a kind")
		collectNames(fields, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
	g.Expect(len(fields)).To(BeNumerically(">", 80))
	for field := range fields {
		if !regexp.MustCompile("[`.]" + field + "`|\\b" + field + ":").MatchString(dpfGuide) {
			t.Errorf("dpf.md has no field %s", field)
		}
	}
}

// collectNames notes the names of all fields of ours. Below some are Kubernetes' own.
func collectNames(names map[string]bool, schema apiextensionsv1.JSONSchemaProps) {
	for name, field := range schema.Properties {
		names[name] = true
		if !slices.Contains([]string{"clusterSelector", "nodeSelector", "updateStrategy", "conditions"}, name) {
			collectNames(names, field)
		}
	}
	if schema.Items != nil {
		collectNames(names, *schema.Items.Schema)
	}
}

func TestDPFGuide_itsExamplesAreTakenByTheAPIServer(t *testing.T) {
	t.Parallel()
	c := client.WithFieldValidation(testenv.Client(t), metav1.FieldValidationStrict)
	production := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.Namespace}}
	NewWithT(t).Expect(c.Create(t.Context(), production)).To(Succeed())
	for _, e := range examplesOf(t, dpfGuide) {
		t.Run(fmt.Sprintf("line %d", e.line), func(t *testing.T) {
			t.Parallel()
			namespace := testenv.Namespace(t)
			for _, object := range e.objects {
				apply(t, c, namespace, object, nil)
			}
		})
	}
}
