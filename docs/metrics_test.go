package docs_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	_ "github.com/bedplate/bedplate/internal/bmm/client" // registers the metrics of calls
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/dpf/operator"
	"github.com/bedplate/bedplate/internal/hydrazine/agent"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	_ "github.com/bedplate/bedplate/internal/hydrazine/speaker" // registers the metrics of speakers
	krake "github.com/bedplate/bedplate/internal/krake/provider"
	"github.com/bedplate/bedplate/internal/mtls"
	powervs "github.com/bedplate/bedplate/internal/powervs/provider"
	"github.com/bedplate/bedplate/internal/waiting"
)

//go:embed metrics.md
var metricsGuide string

// systems are those that have alerts and a dashboard.
var systems = []string{"bmm", "powervs", "krake", "hydrazine", "dpf"}

// registered returns the metrics of all programs and their labels.
func registered(g Gomega) map[string][]string {
	descriptions := make(chan *prometheus.Desc, 1000)
	metrics.Registry.(prometheus.Collector).Describe(descriptions)
	waiting.New(nil).Describe(descriptions)
	krake.NewStates(nil).Describe(descriptions)
	operator.NewState(nil).Describe(descriptions)
	controller.NewState(nil, controller.Config{}).Describe(descriptions)
	agent.NewMetrics().Describe(descriptions)
	proxy.NewMetrics().Describe(descriptions)
	expiry, err := (&mtls.Files{Insecure: true}).Expiry(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	expiry.Describe(descriptions)
	close(descriptions)
	form := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: {([^}]*)}`)
	all := map[string][]string{}
	for description := range descriptions {
		match := form.FindStringSubmatch(description.String())
		g.Expect(match).NotTo(BeNil(), description.String())
		all[match[1]] = strings.FieldsFunc(match[2], func(r rune) bool { return r == ',' })
	}
	g.Expect(all).To(And(HaveKey("bedplate_outside_calls_total"), HaveKey("bedplate_hydrazine_agent_calls_total")))
	return all
}

// documented returns the rows of the guide's list: name, type, labels.
func documented() (rows [][]string) {
	form := regexp.MustCompile("(?m)^\\| `(bedplate_[a-z_]+)` \\| (\\w+) \\|([^|]+)\\|")
	for _, row := range form.FindAllStringSubmatch(metricsGuide, -1) {
		labels := strings.ReplaceAll(strings.ReplaceAll(row[3], "`", ""), " ", "")
		rows = append(rows, []string{row[1], row[2], labels})
	}
	return rows
}

func TestMetrics_areThoseOfTheGuide(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var found []string
	for name, labels := range registered(g) {
		if strings.HasPrefix(name, "bedplate_") {
			found = append(found, name+" "+strings.Join(labels, ","))
		}
	}
	var listed []string
	for _, row := range documented() {
		listed = append(listed, row[0]+" "+row[2])
		g.Expect(strings.HasSuffix(row[0], "_total")).To(Equal(row[1] == "counter"), "the type of "+row[0])
	}
	g.Expect(listed).To(ConsistOf(found))
	lists := slices.Concat(provider.Lists(), powervs.Lists(), krake.Counted())
	for _, list := range append(lists, &machinev1.MachineList{}, &operatorv1.DPFOperatorConfigList{}, &resourcev1.ResourceGroupList{}, &resourcev1.ManagedResourceList{}) {
		kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
		g.Expect(metricsGuide).To(MatchRegexp("(?m)^\\| `kind` \\| .*`"+kind+"`"), "a value of the label kind")
	}
	for _, class := range append(constants(g, "../internal/fault/fault.go", regexp.MustCompile(`.`)), "ok") {
		g.Expect(metricsGuide).To(ContainSubstring("`"+class+"`"), "a value of the label class")
	}
}

type alert struct {
	Alert, Expr string
	Annotations map[string]string
}

func monitoring(system string) string { return "../config/" + system + "/components/monitoring/" }

func alerts(g Gomega, systems ...string) (all []alert) {
	for _, system := range systems {
		all = append(all, alertsOf(g, system)...)
	}
	return all
}

func alertsOf(g Gomega, system string) (all []alert) {
	data, err := os.ReadFile(monitoring(system) + "alerts.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var rules struct {
		Spec struct{ Groups []struct{ Rules []alert } }
	}
	g.Expect(yaml.Unmarshal(data, &rules)).To(Succeed())
	for _, group := range rules.Spec.Groups {
		all = append(all, group.Rules...)
	}
	g.Expect(all).NotTo(BeEmpty())
	return all
}

func TestAlerts_haveARunbook(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var names []string
	for _, a := range alerts(g, systems...) {
		if !slices.Contains(names, a.Alert) { // those of the engine are the same for each system
			names = append(names, a.Alert)
		}
		g.Expect(a.Annotations["runbook_url"]).To(HaveSuffix("/docs/metrics.md#" + strings.ToLower(a.Alert)))
		g.Expect(a.Annotations["summary"]).NotTo(BeEmpty(), a.Alert)
	}
	var runbook []string
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(metricsGuide, -1) {
		runbook = append(runbook, heading[1])
	}
	g.Expect(runbook).To(Equal(names))
}

// A metric without its samples is an alert that never comes, or a panel that stays empty: so is one of another name.
func TestAlertsAndDashboard_askForWhatThereIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	queries := map[string]string{}
	for _, system := range systems {
		maps.Copy(queries, dashboard(g, system))
	}
	for _, a := range alerts(g, systems...) {
		queries["alert "+a.Alert] = a.Expr
	}
	known := registered(g)
	known["up"] = nil // Prometheus' own
	types := map[string]string{}
	for _, row := range documented() {
		types[row[0]] = row[1]
	}
	name := regexp.MustCompile(`\b(?:(?:bedplate|controller_runtime|workqueue|process)_[a-z0-9_]+|up)\b`)
	label := regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	by := regexp.MustCompile(`by \(([^)]*)\)`)
	for where, query := range queries {
		asked := name.FindAllString(query, -1)
		g.Expect(asked).NotTo(BeEmpty(), where)
		labels := []string{"job", "instance", "pod"} // Prometheus adds these
		for _, metric := range asked {
			base := strings.TrimSuffix(strings.TrimSuffix(metric, "_bucket"), "_count")
			g.Expect(known).To(HaveKey(base), where)
			if strings.HasPrefix(base, "bedplate_") {
				g.Expect(base != metric).To(Equal(types[base] == "histogram"), "%s: %s", where, metric)
			}
			labels = append(labels, known[base]...)
			if base != metric {
				labels = append(labels, "le")
			}
		}
		used := label.FindAllStringSubmatch(query, -1)
		for _, list := range by.FindAllStringSubmatch(query, -1) {
			for _, one := range strings.Split(list[1], ",") {
				used = append(used, []string{"", strings.TrimSpace(one)})
			}
		}
		for _, one := range used {
			g.Expect(labels).To(ContainElement(one[1]), where)
		}
	}
}

// Agents that systemd runs have no Pod to distinguish them by.
func TestAlerts_sayWhichAgentsCertificateEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(alertsOf(g, "hydrazine")).To(ContainElement(And(HaveField("Alert", "BedplateHydrazineCertificateExpires"),
		HaveField("Expr", MatchRegexp(`by \([^)]*\binstance\b`)), HaveField("Annotations", HaveKeyWithValue("summary", ContainSubstring("$labels.instance"))))))
}

// dashboard returns a dashboard's queries by the titles of their panels.
func dashboard(g Gomega, system string) map[string]string {
	data, err := os.ReadFile(monitoring(system) + "dashboard.json")
	g.Expect(err).NotTo(HaveOccurred())
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	g.Expect(json.Unmarshal(data, &d)).To(Succeed())
	queries, ids := map[string]string{}, map[int]bool{}
	for _, panel := range d.Panels {
		g.Expect(ids).NotTo(HaveKey(panel.ID), panel.Title)
		g.Expect(panel.Targets).To(HaveLen(1), panel.Title)
		ids[panel.ID], queries[system+"'s panel "+panel.Title] = true, panel.Targets[0].Expr
	}
	g.Expect(queries).To(HaveLen(len(d.Panels)), "each panel has a title of its own")
	return queries
}

// Whatever an object of the engine's may wait for, an alert fires in the end. The alerts on Hydrazine's leave no reason out.
func TestAlerts_leaveNoReasonOut(t *testing.T) {
	t.Parallel()
	for system, given := range map[string]func(Gomega) []string{"bmm": reasonsGiven, "powervs": powervsReasons, "krake": krakeReasons} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var heard []string
			for _, a := range alerts(g, system) {
				for _, match := range regexp.MustCompile(`(?:reason|class)=~?"([^"]+)"`).FindAllStringSubmatch(a.Expr, -1) {
					heard = append(heard, strings.Split(match[1], "|")...)
				}
			}
			reasons := append(given(g), constants(g, "../internal/fault/fault.go", regexp.MustCompile(`.`))...)
			reasons = slices.DeleteFunc(reasons, func(reason string) bool {
				return slices.Contains([]string{"Ready", "NotWanted", "Bound", "Online", "Stale", "StayingAway", // all is well; never for long
					"Connecting"}, reason) // of Ready only, which isn't counted
			})
			g.Expect(heard).To(ContainElements(reasons))
			for _, reason := range heard {
				g.Expect(guides[system].text).To(ContainSubstring("`"+reason+"`"), "a reason that no object has")
			}
		})
	}
}

// A label that grows with the site makes a metric too expensive, and one with a tenant's text reveals it to others.
func TestMetrics_ofHydrazineNameNobody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	bounded := []string{"kind", "ready", "reason", "state", "method", "code", "database", "outcome", "family", "to", "neighbor"}
	for name, labels := range registered(g) {
		if strings.HasPrefix(name, "bedplate_hydrazine_") {
			for _, label := range labels {
				g.Expect(bounded).To(ContainElement(label), name)
			}
		}
	}
}
