package scheduler

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/constraints"
)

// Value of a metric, or why there is none.
type Value struct {
	Number float64
	Reason *krakev1.Reason
}

// Values of a cloud's metrics, by their names.
type Values map[string]Value

// Verdict on a cloud: why it was chosen, or why not.
type Verdict struct {
	Cloud krakev1.CloudReference
	Why   string
}

// Choice among clouds.
type Choice struct {
	// Cloud is nil if none matches.
	Cloud *krakev1.CloudReference
	// Verdicts on all clouds, the chosen one first.
	Verdicts []Verdict
}

// String names every cloud, and why it was chosen or not, in at most so many bytes.
func (c Choice) String(most int) string {
	var text strings.Builder
	for i, v := range c.Verdicts {
		part := fmt.Sprintf("%s: %s", v.Cloud, v.Why)
		if i > 0 {
			part = "; " + part
		}
		more := fmt.Sprintf("; and %d more", len(c.Verdicts)-i)
		if text.Len()+len(part)+len(more) > most {
			text.WriteString(more)
			break
		}
		text.WriteString(part)
	}
	return text.String()
}

// Choose the cloud that a cluster is made on. Those of its namespace come first: GlobalClouds are looked at if none of them matches. Of
// those that match, the one with the highest score wins; of equal ones one at random, which is the same for each seed and cluster. The
// error is a constraint that can't be read.
func Choose(cluster *krakev1.Cluster, clouds []krakev1.AnyCloud, values map[krakev1.CloudReference]Values, seed uint64) (Choice, error) {
	wanted, err := read(cluster)
	if err != nil {
		return Choice{}, err
	}
	var choice Choice
	for _, kind := range []string{krakev1.KindCloud, krakev1.KindGlobalCloud} {
		var matching []candidate
		for _, cloud := range clouds {
			reference := cloud.Reference()
			if reference.Kind != kind {
				continue
			}
			if why := wanted.unmet(cloud, values[reference]); why != "" {
				choice.Verdicts = append(choice.Verdicts, Verdict{reference, why})
			} else if choice.Cloud != nil {
				choice.Verdicts = append(choice.Verdicts, Verdict{reference, "matches, but a Cloud does, too, and comes first"})
			} else {
				score, none := score(cloud.Described().Use().Metrics, values[reference])
				matching = append(matching, candidate{reference, score, none})
			}
		}
		if len(matching) > 0 {
			best, verdicts := rank(matching, rand.New(rand.NewPCG(seed, hashOf(cluster)))) // #nosec G404 -- a choice, no secret
			choice.Cloud, choice.Verdicts = &best, append(choice.Verdicts, verdicts...)
		}
	}
	slices.SortFunc(choice.Verdicts, func(a, b Verdict) int {
		chosen := func(v Verdict) int {
			if choice.Cloud != nil && v.Cloud == *choice.Cloud {
				return 0
			}
			return 1
		}
		return cmp.Or(chosen(a)-chosen(b), cmp.Compare(a.Cloud.String(), b.Cloud.String()))
	})
	return choice, nil
}

func hashOf(cluster *krakev1.Cluster) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(cluster.UID))
	return hash.Sum64()
}

// score is the mean value of metrics by their weights. Where it is 0 for want of metrics or a value, none says so.
func score(metrics []krakev1.MetricReference, values Values) (score float64, none string) {
	var sum, weights float64
	for _, m := range metrics {
		v := values[m.Name]
		if v.Reason != nil {
			return 0, fmt.Sprintf("metric %s: %s", m.Name, v.Reason.Message)
		}
		sum += v.Number * m.Weight
		weights += m.Weight
	}
	if weights == 0 {
		return 0, "no metrics"
	}
	return sum / weights, ""
}

// candidate is a cloud that matches.
type candidate struct {
	krakev1.CloudReference
	score float64
	none  string
}

// rank those that match: one with a score wins over all without.
func rank(matching []candidate, random *rand.Rand) (best krakev1.CloudReference, verdicts []Verdict) {
	byRank := func(a, b candidate) int {
		without := func(c candidate) int { return min(1, len(c.none)) }
		return cmp.Or(without(a)-without(b), cmp.Compare(b.score, a.score))
	}
	slices.SortFunc(matching, func(a, b candidate) int { return cmp.Or(byRank(a, b), cmp.Compare(a.Name, b.Name)) })
	equal := 1
	for equal < len(matching) && byRank(matching[0], matching[equal]) == 0 {
		equal++
	}
	winner := random.IntN(equal)
	for i, c := range matching {
		why := "matches, but the score of another one is greater"
		switch {
		case i == winner && equal > 1:
			why = fmt.Sprintf("chosen at random among %d that are equal", equal)
		case i == winner:
			why = "chosen"
		case i < equal:
			why = "matches, but another one that is equal was chosen at random"
		case c.none != "":
			why = "matches, but another one has a score"
		}
		detail := fmt.Sprintf("score %.4g", c.score)
		if c.none != "" {
			detail = "score 0, " + c.none
		}
		verdicts = append(verdicts, Verdict{c.CloudReference, why + " (" + detail + ")"})
	}
	return matching[winner].CloudReference, verdicts
}

// wanted are the constraints of a cluster.
type wanted struct {
	labels  []constraints.Label
	metrics []constraints.Metric
}

func read(cluster *krakev1.Cluster) (w wanted, _ error) {
	if cluster.Spec.Constraints == nil || cluster.Spec.Constraints.Cloud == nil {
		return w, nil
	}
	for _, text := range cluster.Spec.Constraints.Cloud.Labels {
		label, err := constraints.ParseLabel(text)
		if err != nil {
			return w, fmt.Errorf("constraint %q on labels: %w", text, err)
		}
		w.labels = append(w.labels, label)
	}
	for _, text := range cluster.Spec.Constraints.Cloud.Metrics {
		metric, err := constraints.ParseMetric(text)
		if err != nil {
			return w, fmt.Errorf("constraint %q on metrics: %w", text, err)
		}
		w.metrics = append(w.metrics, metric)
	}
	return w, nil
}

// unmet says why a cloud doesn't match. It is empty if it does.
func (w wanted) unmet(cloud krakev1.AnyCloud, values Values) string {
	if cloud.GetDeletionTimestamp() != nil {
		return "is being deleted"
	}
	var unmet []string
	for _, c := range w.labels {
		if labels := cloud.GetLabels(); !c.Match(labels) {
			has := "it has no such label"
			if value, there := labels[c.Key]; there {
				has = "it is " + value
			}
			unmet = append(unmet, fmt.Sprintf("label %q isn't met: %s", c, has))
		}
	}
	numbers := map[string]float64{}
	for name, v := range values {
		if v.Reason == nil {
			numbers[name] = v.Number
		}
	}
	for _, c := range w.metrics {
		if !c.Match(numbers) {
			has := "it has no such metric"
			if v, there := values[c.Name]; there && v.Reason != nil {
				has = v.Reason.Message
			} else if there {
				has = fmt.Sprintf("it is %.4g", v.Number)
			}
			unmet = append(unmet, fmt.Sprintf("metric %q isn't met: %s", c, has))
		}
	}
	return strings.Join(unmet, ", ")
}
