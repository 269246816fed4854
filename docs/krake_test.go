package docs_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/cluster"
	"github.com/bedplate/bedplate/internal/krake/constraints"
	"github.com/bedplate/bedplate/internal/krake/guard"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kubeconfig"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
)

// readsKrakeSecret reads the Secret of a cloud of type im, of a cluster, or of a provider, which has the keys of an OpenStack's too.
func readsKrakeSecret(s *corev1.Secret) (err error) {
	switch {
	case s.Data[im.FieldType] != nil:
		_, err = im.Cloud(s)
	case s.Data[kubeconfig.Key] != nil:
		_, err = kubeconfig.Read(s.Data[kubeconfig.Key])
	default:
		_, err = im.Connect("https://im.example.com:8800", nil, nil)(s)
	}
	return err
}

// krakeReasons are those of the engine, the scheduler, the observers and the guards.
func krakeReasons(g Gomega) []string {
	reasons := reasonsIn(g, "../internal/graph", "../internal/graph/decide", "../internal/graph/phases", "../internal/krake/cluster")
	reasons = append(reasons, observersReasons(g)...)
	reasons = append(reasons, scheduler.ReasonBound, scheduler.ReasonNoSuitableCloud)        // the others are classes of faults, too
	return slices.DeleteFunc(reasons, func(reason string) bool { return reason == "Stale" }) // never shown
}

// observersReasons are those of Clusters that are observed.
func observersReasons(g Gomega) (reasons []string) {
	source, err := os.ReadFile("../internal/krake/observer/show.go")
	g.Expect(err).NotTo(HaveOccurred())
	for _, match := range regexp.MustCompile(`krakev1\.State\w+:\s+"(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		if match[1] != "Connecting" { // no condition is about that
			reasons = append(reasons, match[1])
		}
	}
	g.Expect(reasons).To(ContainElements("Online", "KubeconfigInvalid"))
	return reasons
}

func TestKrakeGuide_namesWhatUsersMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const conditionsFile = "../api/krake/v1alpha1/conditions.go"
	reasons := krakeReasons(g)
	for _, file := range []string{"scheduler/binding.go", "scheduler/cloud.go", "scheduler/scheduler.go", "observer/provider.go", "guard/guard.go"} {
		reasons = append(reasons, constants(g, "../internal/krake/"+file, regexp.MustCompile(`^Reason`))...)
	}
	g.Expect(reasons).To(ContainElements("StayingAway", "NotBindable", "FailingMetrics", "Unreachable", "InUse"))
	states := constants(g, conditionsFile, regexp.MustCompile(`^State`))
	var all []string
	for _, state := range krakev1.ClusterStates {
		all = append(all, string(state))
	}
	g.Expect(states).To(ConsistOf(all))
	source, err := os.ReadFile("../cmd/krake-manager/main.go")
	g.Expect(err).NotTo(HaveOccurred())
	var flags []string
	for _, match := range regexp.MustCompile(`Flags\(\)\.\w*Var\([^"]+"([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		flags = append(flags, "--"+match[1])
	}
	g.Expect(flags).To(ContainElements("--global-namespace", "--create-deadline", "--tosca-imports", "--observe-interval"))

	for kind, words := range map[string][]string{
		"kind": {"Cluster", "Cloud", "GlobalCloud", "InfrastructureProvider", "GlobalInfrastructureProvider", "Metric", "GlobalMetric",
			"MetricsProvider", "GlobalMetricsProvider", "CloudBinding"},
		"condition":       constants(g, conditionsFile, regexp.MustCompile(`Condition$`)),
		"class of faults": constants(g, "../internal/fault/fault.go", regexp.MustCompile(`.`)),
		"reason":          reasons,
		"reason code":     constants(g, conditionsFile, regexp.MustCompile(`^Reason`)),
		"state":           append(states, string(krakev1.CloudOnline), string(krakev1.CloudFailingMetrics)),
		"flag":            flags,
		"key of a Secret": {im.SecretKeyUsername, im.SecretKeyPassword, im.SecretKeyToken, im.SecretKeyCA, "domainName", kubeconfig.Key},
		"finalizer":       {krakev1.ClusterFinalizer, guard.Finalizer, guard.SecretFinalizer},
		"annotation":      {krakev1.AbandonAnnotation + `: "true"`},
		"field of a status": slices.Concat(statusOf(krakev1.ClusterStatus{}), statusOf(krakev1.CloudStatus{}),
			statusOf(krakev1.InfrastructureProviderStatus{}), statusOf(krakev1.CloudBindingStatus{})),
		"method of an infrastructure manager": methodsOf[cluster.Manager](),
	} {
		g.Expect(words).NotTo(BeEmpty(), kind)
		for _, word := range words {
			if !strings.Contains(krakeGuide, "`"+word+"`") {
				t.Errorf("krake.md doesn't name the %s `%s`", kind, word)
			}
		}
	}
}

func methodsOf[Interface any]() (names []string) {
	of := reflect.TypeFor[Interface]()
	for i := range of.NumMethod() {
		names = append(names, of.Method(i).Name)
	}
	return names
}

// Every state has a row, and is in the diagram; a transition that it shows is between states.
func TestKrakeGuide_drawsAllStates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, diagram, _ := strings.Cut(krakeGuide, "```mermaid\n")
	diagram, _, found := strings.Cut(diagram, "```")
	g.Expect(found).To(BeTrue())
	drawn := map[krakev1.ClusterState]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +(\S+) --> ([^\s:]+)`).FindAllStringSubmatch(diagram, -1) {
		for _, state := range match[1:] {
			if state != "[*]" {
				g.Expect(krakev1.ClusterStates).To(ContainElement(krakev1.ClusterState(state)))
				drawn[krakev1.ClusterState(state)] = true
			}
		}
	}
	g.Expect(drawn).To(HaveLen(len(krakev1.ClusterStates)))
	for _, state := range krakev1.ClusterStates {
		g.Expect(krakeGuide).To(ContainSubstring("\n| `" + string(state) + "` | "))
	}
}

// The table of operators has exactly those that are read.
func TestKrakeGuide_hasTheGrammar(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, section, _ := strings.Cut(krakeGuide, "### Constraints\n")
	section, _, found := strings.Cut(section, "\n```")
	g.Expect(found).To(BeTrue())
	rows := regexp.MustCompile(`(?m)^\|([^|]*)\|([^|]*)\|(.*)\|$`).FindAllStringSubmatch(section, -1)
	operator := regexp.MustCompile("`([^`]+)`")
	labels, read := true, 0
	for _, row := range rows {
		labels = labels && !strings.Contains(row[1], "metric")
		for _, match := range operator.FindAllStringSubmatch(row[3], -1) {
			var err error
			switch word := match[1]; {
			case word == "is" && strings.Contains(row[3], "before"), word == "lesser": // they are about others
				continue
			case !labels:
				_, err = constraints.ParseMetric("load " + word + " 1")
			case strings.HasSuffix(word, "in"):
				_, err = constraints.ParseLabel("location " + word + " (DE, SK)")
			default:
				_, err = constraints.ParseLabel("location " + word + " DE")
			}
			g.Expect(err).NotTo(HaveOccurred(), match[1])
			read++
		}
	}
	g.Expect(read).To(BeNumerically(">", 20))
}
