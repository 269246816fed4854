package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
)

// described is a cloud in a few words: "Cloud a location=DE load=0.5*2 heat=?*1". The number after the star is a weight; "?" has no value.
func described(text string) (cloud krakev1.AnyCloud, values scheduler.Values) {
	words := strings.Fields(text)
	meta := metav1.ObjectMeta{Name: words[1], Labels: map[string]string{}}
	values = scheduler.Values{}
	var use krakev1.CloudUse
	for _, word := range words[2:] {
		name, what, _ := strings.Cut(word, "=")
		number, weight, metric := strings.Cut(what, "*")
		if !metric {
			meta.Labels[name] = what
			continue
		}
		reference, value := krakev1.MetricReference{Name: name}, scheduler.Value{}
		_, _ = fmt.Sscan(weight, &reference.Weight)
		if number == "?" {
			value.Reason = &krakev1.Reason{Code: krakev1.ReasonUnreachableMetricsProvider, Message: "no answer"}
		}
		_, _ = fmt.Sscan(number, &value.Number)
		use.Metrics, values[name] = append(use.Metrics, reference), value
	}
	spec := krakev1.CloudSpec{Type: krakev1.CloudTypeIM, IM: &krakev1.IMCloud{CloudUse: use}}
	if meta.Labels["deleted"] != "" {
		meta.DeletionTimestamp = &metav1.Time{}
	}
	if words[0] == krakev1.KindGlobalCloud {
		return &krakev1.GlobalCloud{ObjectMeta: meta, Spec: spec}, values
	}
	return &krakev1.Cloud{ObjectMeta: meta, Spec: spec}, values
}

// choose among clouds for a cluster with constraints, which are divided by ";", those on metrics after "|".
func choose(g Gomega, constraints, uid string, seed uint64, texts ...string) scheduler.Choice {
	cluster := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
	if constraints != "" {
		labels, metrics, _ := strings.Cut(constraints, "|")
		list := func(text string) []string {
			return slices.DeleteFunc(strings.Split(text, ";"), func(s string) bool { return s == "" })
		}
		cluster.Spec.Constraints = &krakev1.Constraints{Cloud: &krakev1.CloudConstraints{Labels: list(labels), Metrics: list(metrics)}}
	}
	var clouds []krakev1.AnyCloud
	values := map[krakev1.CloudReference]scheduler.Values{}
	for _, text := range texts {
		cloud, v := described(text)
		clouds = append(clouds, cloud)
		values[cloud.Reference()] = v
	}
	choice, err := scheduler.Choose(cluster, clouds, values, seed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(choice.Verdicts).To(HaveLen(len(clouds)), "every cloud is named")
	return choice
}

func TestChoose_followsTheRules(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		constraints string
		clouds      []string
		want        string // all verdicts, the chosen one first
	}{
		"no clouds": {"", nil, ""},
		"one":       {"", []string{"Cloud a"}, "Cloud a: chosen (score 0, no metrics)"},

		"a Cloud comes before GlobalClouds, whatever their scores are": {"", []string{"GlobalCloud g load=9*1", "Cloud a load=1*1"},
			"Cloud a: chosen (score 1); GlobalCloud g: matches, but a Cloud does, too, and comes first"},
		"GlobalClouds if no Cloud matches": {"location is DE", []string{"Cloud a location=IT", "GlobalCloud g location=DE", "GlobalCloud h"},
			`GlobalCloud g: chosen (score 0, no metrics); Cloud a: label "location is DE" isn't met: it is IT; ` +
				`GlobalCloud h: label "location is DE" isn't met: it has no such label`},
		"a GlobalCloud of the same name is another one": {"", []string{"Cloud a", "GlobalCloud a load=1*1"},
			"Cloud a: chosen (score 0, no metrics); GlobalCloud a: matches, but a Cloud does, too, and comes first"},

		"the greatest score": {"", []string{"Cloud a load=0.5*1", "Cloud b load=0.75*1"},
			"Cloud b: chosen (score 0.75); Cloud a: matches, but the score of another one is greater (score 0.5)"},
		"a mean by weights": {"", []string{"Cloud a load=1*3 heat=0*1", "Cloud b load=0.7*1"}, // 0.75
			"Cloud a: chosen (score 0.75); Cloud b: matches, but the score of another one is greater (score 0.7)"},
		"not a sum": {"", []string{"Cloud a load=1*1 heat=1*1 cost=1*1", "Cloud b load=2*0.1"},
			"Cloud b: chosen (score 2); Cloud a: matches, but the score of another one is greater (score 1)"},
		"metrics win over none, even below 0": {"", []string{"Cloud a", "Cloud b load=-5*1"},
			"Cloud b: chosen (score -5); Cloud a: matches, but another one has a score (score 0, no metrics)"},
		"a metric without weight is none": {"", []string{"Cloud a load=9*0", "Cloud b load=1*1"},
			"Cloud b: chosen (score 1); Cloud a: matches, but another one has a score (score 0, no metrics)"},
		"a failing metric takes the score away": {"", []string{"Cloud a load=9*1 heat=?*1", "Cloud b load=1*1"},
			"Cloud b: chosen (score 1); Cloud a: matches, but another one has a score (score 0, metric heat: no answer)"},
		"a failing metric alone": {"", []string{"Cloud a load=?*1"}, "Cloud a: chosen (score 0, metric load: no answer)"},

		"all labels": {"location in (DE, SK);tier != 1", []string{"Cloud a location=DE tier=1", "Cloud b location=SK tier=2", "Cloud c tier=1"},
			`Cloud b: chosen (score 0, no metrics); Cloud a: label "tier is not 1" isn't met: it is 1; ` +
				`Cloud c: label "location in (DE, SK)" isn't met: it has no such label, label "tier is not 1" isn't met: it is 1`},
		"a missing label fails even !=": {"tier != 1", []string{"Cloud a"}, `Cloud a: label "tier is not 1" isn't met: it has no such label`},
		"metrics": {"|load < 0.5", []string{"Cloud a load=0.5*1", "Cloud b load=0.25*1", "Cloud c", "Cloud d load=?*1", "Cloud e load=0.3*0"},
			`Cloud b: chosen (score 0.25); Cloud a: metric "load < 0.5" isn't met: it is 0.5; ` +
				`Cloud c: metric "load < 0.5" isn't met: it has no such metric; ` +
				`Cloud d: metric "load < 0.5" isn't met: no answer; Cloud e: matches, but another one has a score (score 0, no metrics)`},
		"one that is being deleted": {"", []string{"Cloud a deleted=yes load=9*1", "GlobalCloud b"},
			"GlobalCloud b: chosen (score 0, no metrics); Cloud a: is being deleted"},
		"none": {"location is DE", []string{"GlobalCloud a", "Cloud b"},
			`Cloud b: label "location is DE" isn't met: it has no such label; ` +
				`GlobalCloud a: label "location is DE" isn't met: it has no such label`},
	} {
		g := NewWithT(t)
		choice := choose(g, row.constraints, "", 1, row.clouds...)
		g.Expect(choice.String(10_000)).To(Equal(row.want), name)
		g.Expect(choice.Cloud != nil).To(Equal(strings.Contains(row.want, "chosen")), name)
		if choice.Cloud != nil {
			g.Expect(*choice.Cloud).To(Equal(choice.Verdicts[0].Cloud), name)
		}
		slices.Reverse(row.clouds)
		g.Expect(choose(g, row.constraints, "", 1, row.clouds...)).To(Equal(choice), "%s: the order doesn't matter", name)
	}
}

func TestChoose_takesAnyOfEqualOnesAndThatOneAgain(t *testing.T) {
	t.Parallel()
	for name, clouds := range map[string][]string{
		"without metrics":         {"Cloud a", "Cloud b", "Cloud c"},
		"with the same score":     {"Cloud a load=1*1", "Cloud b load=1*2", "Cloud c load=1*1", "Cloud d", "Cloud e load=0.5*1"},
		"where all metrics fail":  {"Cloud a load=?*1", "Cloud b load=?*1", "Cloud c"},
		"where no Cloud is there": {"GlobalCloud a", "GlobalCloud b", "GlobalCloud c"},
	} {
		g := NewWithT(t)
		chosen := map[string]int{}
		for i := range 300 {
			uid := fmt.Sprint("uid-", i)
			choice := choose(g, "", uid, 7, clouds...)
			g.Expect(choose(g, "", uid, 7, clouds...)).To(Equal(choice), "it is repeatable")
			chosen[choice.Cloud.Name]++
			if i == 0 {
				slices.Reverse(clouds)
				g.Expect(choose(g, "", uid, 7, clouds...)).To(Equal(choice), "the order doesn't matter")
			}
		}
		g.Expect(chosen).To(HaveLen(3), name)
		for _, n := range chosen {
			g.Expect(n).To(BeNumerically("~", 100, 50), "%s: %v", name, chosen)
		}
		other := 0
		for seed := range uint64(50) {
			if choose(g, "", "uid", seed, clouds...).Cloud.Name != choose(g, "", "uid", 7, clouds...).Cloud.Name {
				other++
			}
		}
		g.Expect(other).To(BeNumerically(">", 0), "%s: it depends on the seed", name)
	}
}

func TestChoice_fitsIntoAMessage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var clouds []string
	for i := range 100 {
		clouds = append(clouds, fmt.Sprintf("Cloud cloud-%02d", i))
	}
	choice := choose(g, "location is DE", "", 0, clouds...)
	text := choice.String(1024)
	g.Expect(len(text)).To(BeNumerically("<=", 1024))
	g.Expect(text).To(And(HavePrefix("Cloud cloud-00: label"), MatchRegexp(`; and \d\d more$`)))
	g.Expect(choice.String(100_000)).To(HaveSuffix("Cloud cloud-99: label \"location is DE\" isn't met: it has no such label"))
}

func TestChoose_saysWhichConstraintCantBeRead(t *testing.T) {
	t.Parallel()
	cluster := &krakev1.Cluster{}
	cluster.Spec.Constraints = &krakev1.Constraints{Cloud: &krakev1.CloudConstraints{Metrics: []string{"load > high"}}}
	_, err := scheduler.Choose(cluster, nil, nil, 0)
	NewWithT(t).Expect(err).To(MatchError(
		`constraint "load > high" on metrics: column 8: expected a number, found "high": such as 5 or -0.25`))
	cluster.Spec.Constraints.Cloud = &krakev1.CloudConstraints{Labels: []string{"location in DE"}}
	_, err = scheduler.Choose(cluster, nil, nil, 0)
	NewWithT(t).Expect(err).To(MatchError(HavePrefix(`constraint "location in DE" on labels: column 13`)))
}
