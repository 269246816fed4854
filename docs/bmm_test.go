package docs_test

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	powervsv1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	bmmconfig "github.com/bedplate/bedplate/config/bmm"
	krakeconfig "github.com/bedplate/bedplate/config/krake"
	powervsconfig "github.com/bedplate/bedplate/config/powervs"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/webhook"
	dpf "github.com/bedplate/bedplate/internal/dpf/webhook"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	hydrazine "github.com/bedplate/bedplate/internal/hydrazine/webhook"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	krake "github.com/bedplate/bedplate/internal/krake/webhook"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/manager"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	powervs "github.com/bedplate/bedplate/internal/powervs/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) {
	imports := krake.Options{Imports: tosca.Imports{"https://raw.githubusercontent.com/grycap/tosca/main/"}}
	ignition := powervs.Features{BootstrapFormatIgnition: true}
	testenv.Main(m, webhook.SetupWithManager, dpf.SetupWithManager, ignition.SetupWithManager, imports.SetupWithManager, func(mgr ctrl.Manager) error {
		return errors.Join(controller.Index(context.Background(), mgr.GetFieldIndexer()), hydrazine.SetupWithManager(mgr))
	})
}

//go:embed bmm.md
var guide string

//go:embed powervs.md
var powervsGuide string

//go:embed krake.md
var krakeGuide string

// guides are those of systems whose objects have something outside.
var guides = map[string]struct {
	text string
	crds fs.FS
	// group of the kinds that users write.
	group string
	// fields is how many there are at least.
	fields int
	// login reads a Secret.
	login func(*corev1.Secret) error
}{
	"bmm": {guide, bmmconfig.CRDs, infrav1.GroupVersion.Group, 100, func(s *corev1.Secret) error {
		return connects(bmm.FromSecret, bmm.New, s)
	}},
	"powervs": {powervsGuide, powervsconfig.CRDs, powervsv1.GroupVersion.Group, 100, func(s *corev1.Secret) error {
		return connects(ibm.FromSecret, ibm.New, s)
	}},
	"krake": {krakeGuide, krakeconfig.CRDs, krakev1.GroupVersion.Group, 40, readsKrakeSecret},
}

func connects[Config, Client any](read func(*corev1.Secret) (Config, error), connect func(Config) (Client, error), s *corev1.Secret) error {
	config, err := read(s)
	if err == nil {
		_, err = connect(config)
	}
	return err
}

// example is a YAML block of a guide.
type example struct {
	line    int
	objects []*unstructured.Unstructured
}

func examplesOf(t *testing.T, guide string) (all []example) {
	t.Helper()
	g := NewWithT(t)
	lines := strings.Split(guide, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "```yaml" {
			continue
		}
		length := slices.Index(lines[i+1:], "```")
		g.Expect(length).To(BeNumerically(">", 0), "the block of line %d has no end", i+1)
		e := example{line: i + 1}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(strings.Join(lines[i+1:i+1+length], "\n"))))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			g.Expect(err).NotTo(HaveOccurred())
			object := &unstructured.Unstructured{}
			g.Expect(yaml.UnmarshalStrict(document, &object.Object)).To(Succeed(), "line %d", e.line)
			e.objects = append(e.objects, object)
		}
		all = append(all, e)
		i += length
	}
	g.Expect(all).NotTo(BeEmpty())
	return all
}

func TestGuide_itsExamplesAreTakenByTheAPIServer(t *testing.T) {
	t.Parallel()
	bin := toolstest.Find(t, "manifests/bootstrap-kubeadm.yaml")
	testenv.AddCRDs(t, testenv.Config(t), bin.Path("manifests", "bootstrap-kubeadm.yaml"))
	c := client.WithFieldValidation(testenv.Client(t), metav1.FieldValidationStrict)
	managers := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bedplate-krake-system"}} // which production has
	NewWithT(t).Expect(c.Create(t.Context(), managers)).To(Succeed())
	for system, guide := range guides {
		for _, e := range examplesOf(t, guide.text) {
			t.Run(fmt.Sprintf("%s line %d", system, e.line), func(t *testing.T) {
				t.Parallel()
				namespace := testenv.Namespace(t)
				for _, object := range e.objects {
					apply(t, c, namespace, object, guide.login)
				}
			})
		}
	}
}

func apply(t *testing.T, c client.Client, namespace string, object *unstructured.Unstructured, login func(*corev1.Secret) error) {
	t.Helper()
	g := NewWithT(t)
	namespaced, err := c.IsObjectNamespaced(object)
	g.Expect(err).NotTo(HaveOccurred())
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	g.Expect(c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("docs"))).To(Succeed())
	if object.GetKind() != "Secret" {
		return
	}
	secret := &corev1.Secret{}
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), secret)).To(Succeed())
	g.Expect(login(secret)).To(Succeed())
}

// What a template says of its copies is a field of these.
func TestGuide_showsEveryField(t *testing.T) {
	t.Parallel()
	for system, guide := range guides {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			shown := map[string]bool{}
			for _, e := range examplesOf(t, guide.text) {
				for _, object := range e.objects {
					if object.GroupVersionKind().Group == guide.group {
						show(shown, specOf(object.GetKind()), object.Object["spec"])
					}
				}
			}
			fields := fieldsOf(g, guide.crds, guide.group)
			g.Expect(len(fields)).To(BeNumerically(">", guide.fields))
			for _, field := range slices.Sorted(maps.Keys(fields)) {
				if !shown[field] && field != "IBMPowerVSMachine.spec.image.regex" { // which admission refuses
					t.Errorf("no example in %s.md sets %s", system, field)
				}
			}
		})
	}
}

// fieldsOf are those that users may set.
func fieldsOf(g Gomega, crds fs.FS, group string) map[string]bool {
	files, err := fs.Glob(crds, "crd/bases/"+group+"_*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	fields := map[string]bool{}
	for _, file := range files {
		data, err := fs.ReadFile(crds, file)
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.UnmarshalStrict(data, crd)).To(Succeed())
		for _, version := range crd.Spec.Versions {
			if crd.Spec.Names.Kind != "Ledger" { // which users don't write
				collect(fields, specOf(crd.Spec.Names.Kind), version.Schema.OpenAPIV3Schema.Properties["spec"])
			}
		}
	}
	return fields
}

// specOf is a path. What a Global kind has is that of the kind without Global.
func specOf(kind string) string { return strings.TrimPrefix(kind, "Global") + ".spec" }

// show notes every field that a value sets.
func show(shown map[string]bool, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			path := fieldOf(path, name)
			shown[path] = true
			show(shown, path, field)
		}
	case []any:
		for _, item := range value {
			show(shown, path, item)
		}
	}
}

// collect notes every field that a schema has.
func collect(fields map[string]bool, path string, schema apiextensionsv1.JSONSchemaProps) {
	for name, field := range schema.Properties {
		path := fieldOf(path, name)
		fields[path] = true
		collect(fields, path, field)
	}
	if schema.Items != nil {
		collect(fields, path, *schema.Items.Schema)
	}
}

var copied = regexp.MustCompile(`^(\w+)Template\.spec\.template\.spec$`)

func fieldOf(path, name string) string {
	return copied.ReplaceAllString(path+"."+name, "$1.spec")
}

func TestGuide_namesWhatUsersMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conditions := constants(g, "../api/bmm/v1beta1/conditions.go", regexp.MustCompile(`Condition$`))
	g.Expect(conditions).To(ContainElements(infrav1.ReadyCondition, infrav1.NetworkConfiguredCondition))
	classes := constants(g, "../internal/fault/fault.go", regexp.MustCompile(`.`))
	reasons := reasonsGiven(g)
	g.Expect(reasons).To(ContainElements("Settling", "NoEndpoint", "NoSuchNetwork"))
	reasons = slices.DeleteFunc(reasons, func(reason string) bool {
		return reason == "Stale" || // never shown
			reason == "StayingAway" // of services that bring back what was deleted
	})
	var flags []string
	manager.EngineCommand("manager", "", nil).Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })

	for kind, words := range map[string][]string{
		"condition":       append(conditions, clusterv1.PausedCondition),
		"class of faults": classes,
		"reason":          append(reasons, clusterv1.PausedReason, clusterv1.NotPausedReason),
		"state of an instance": {
			string(bmm.InstanceRepairing), string(bmm.InstanceRebooting), string(bmm.InstanceUpdating), // reasons too
		},
		"flag of the manager": flags,
		"key of a Secret": {
			bmm.SecretKeyEndpoint, bmm.SecretKeyOrg, bmm.SecretKeyToken, bmm.SecretKeyTokenURL, bmm.SecretKeyClientID,
			bmm.SecretKeyClientSecret, bmm.SecretKeyScopes, bmm.SecretKeyAPIName, bmm.SecretKeyCA,
		},
		"finalizer": {infrav1.ClusterFinalizer, infrav1.MachineFinalizer, cluster.SecretFinalizer},
		"annotation": {
			ledgerv1.TakeOverAnnotation, clusterv1.ManagedByAnnotation, clusterv1.PausedAnnotation,
		},
	} {
		g.Expect(words).NotTo(BeEmpty(), kind)
		for _, word := range words {
			if !strings.Contains(guide, "`"+word+"`") {
				t.Errorf("bmm.md doesn't name the %s `%s`", kind, word)
			}
		}
	}
	g.Expect(guide).To(ContainSubstring(infrav1.HealthIssueAnnotation + "=" + string(bmm.IssueHardware)))
	g.Expect(strings.Count(guide, "unhealthyLessThanOrEqualTo:")).To(Equal(strings.Count(guide, "kind: MachineHealthCheck\n")), "each has a limit")
}

func TestGuides_linkToWhatIsThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files, err := filepath.Glob("*.md")
	g.Expect(err).NotTo(HaveOccurred())
	files = append(files, "../README.md", "../CONTRIBUTING.md")
	link := regexp.MustCompile(`\]\(([^):#]*)(#[^)]*)?\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target := file
			if match[1] != "" {
				target = filepath.Join(filepath.Dir(file), match[1])
			}
			g.Expect(target).To(BeAnExistingFile(), "a link of "+file)
			if match[2] != "" {
				text, err := os.ReadFile(target)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(anchors(string(text))).To(ContainElement(match[2]), "a link of "+file)
			}
		}
	}
}

// anchors are where links to headings lead, as forges make them.
func anchors(markdown string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(markdown, -1) {
		words := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, "#"+strings.ReplaceAll(words, " ", "-"))
	}
	return all
}
