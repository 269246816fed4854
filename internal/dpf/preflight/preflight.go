// Package preflight checks what has to be there before anything is changed. It reads only, and says all that is missing at once.
package preflight

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

const (
	// timeout of all checks together.
	timeout = 30 * time.Second
	// page of a list.
	page = 500
	// maxProblems are shown of one prerequisite: of 2,000 hosts each can be wrong.
	maxProblems = 5
	// maxProblem and maxMessage are lengths in bytes; a condition has at most 32 KiB.
	maxProblem, maxMessage = 300, 16 << 10
)

// Prerequisite is a row of the table of prerequisites.
type Prerequisite struct {
	// Name of what has to be there.
	Name string
	// Detected says how it is looked for.
	Detected string
	// Remedy says what to do where it is missing.
	Remedy string
	// Warning: it is only told about, since it can be there in a form that can't be detected, or can come later.
	Warning bool
	// Network: it is for the move of the network only, and holds up nothing else.
	Network bool

	// check returns what is missing, with the objects concerned. With an error that isn't known.
	check func(context.Context, *look) ([]string, error)
}

// DPUCluster is a DPU cluster whose nodes are looked at.
type DPUCluster struct {
	Name types.NamespacedName
	// Reader of a cluster that answers.
	Reader client.Reader
	// Err says why there is no Reader.
	Err error
}

// Finding is a prerequisite that isn't met, or isn't known to be.
type Finding struct {
	Prerequisite
	// Problems name the objects concerned.
	Problems []string
	// Err is why it isn't known.
	Err error
}

// Report has what isn't met, in the order of the table.
type Report []Finding

// Cluster is the host cluster, read past any cache: a Client without one.
type Cluster interface {
	client.Reader
	RESTMapper() meta.RESTMapper
}

// Run checks all prerequisites of a configuration.
func Run(ctx context.Context, host Cluster, config *operatorv1.DPFOperatorConfig, clusters []DPUCluster) Report {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	l := &look{Cluster: host, config: config, clusters: clusters}
	l.nodes = sync.OnceValues(func() (map[string]*corev1.Node, error) { return nodes(ctx, host) })
	var report Report
	for _, p := range Table {
		if p.Network && config.Spec.HostNetworkConfiguration == nil {
			continue
		}
		if problems, err := p.check(ctx, l); len(problems) > 0 || err != nil {
			report = append(report, Finding{Prerequisite: p, Problems: problems, Err: err})
		}
	}
	return report
}

// Components may be deployed.
func (r Report) Components() bool {
	return !r.any(func(f Finding) bool { return !f.Warning && !f.Network })
}

// Network may be moved.
func (r Report) Network() bool {
	return !r.any(func(f Finding) bool { return !f.Warning })
}

func (r Report) any(is func(Finding) bool) bool {
	for _, f := range r {
		if is(f) {
			return true
		}
	}
	return false
}

// Condition PrerequisitesMet: False where something is missing, Unknown where that could only not be found out. Its message has all
// findings with their remedies, warnings last.
func (r Report) Condition() metav1.Condition {
	c := metav1.Condition{Type: operatorv1.PrerequisitesMetCondition, Status: metav1.ConditionTrue, Reason: operatorv1.ReasonSuccess}
	switch {
	case r.any(func(f Finding) bool { return !f.Warning && len(f.Problems) > 0 }):
		c.Status, c.Reason = metav1.ConditionFalse, operatorv1.ReasonFailure
	case r.any(func(f Finding) bool { return !f.Warning }):
		c.Status, c.Reason = metav1.ConditionUnknown, operatorv1.ReasonError
	}
	var texts, warnings []string
	for _, f := range r {
		if f.Warning {
			warnings = append(warnings, "warning: "+f.String())
		} else {
			texts = append(texts, f.String())
		}
	}
	c.Message = shorten(strings.Join(append(texts, warnings...), "; "), maxMessage)
	return c
}

// String has the objects concerned, and the remedy.
func (f Finding) String() string {
	var texts []string
	for i, problem := range f.Problems {
		if i == maxProblems {
			texts = append(texts, fmt.Sprintf("and %d more", len(f.Problems)-i))
			break
		}
		texts = append(texts, shorten(problem, maxProblem))
	}
	if f.Err != nil {
		texts = append(texts, "it isn't known: "+shorten(f.Err.Error(), maxProblem))
	}
	if len(f.Problems) == 0 {
		return f.Name + ": " + strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s: %s: %s", f.Name, strings.Join(texts, ", "), f.Remedy)
}

func shorten(s string, length int) string {
	if len(s) <= length {
		return s
	}
	const more = "…"
	return strings.ToValidUTF8(s[:length-len(more)], "") + more
}

// look is what the checks of one run share.
type look struct {
	Cluster
	config   *operatorv1.DPFOperatorConfig
	clusters []DPUCluster
	nodes    func() (map[string]*corev1.Node, error)
}

// missing kinds, of those that have to be served. Only the API server's own word counts.
func (l *look) missing(kinds ...schema.GroupVersionKind) (problems []string, _ error) {
	for _, kind := range kinds {
		_, err := l.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			problems = append(problems, fmt.Sprintf("there is no kind %s in %s", kind.Kind, kind.GroupVersion()))
		case err != nil:
			return nil, fmt.Errorf("look for the kind %s: %w", kind.Kind, err)
		}
	}
	return problems, nil
}

// nodes of a cluster, by name.
func nodes(ctx context.Context, reader client.Reader) (map[string]*corev1.Node, error) {
	all := map[string]*corev1.Node{}
	err := pages(ctx, reader, func() *corev1.NodeList { return &corev1.NodeList{} }, func(list *corev1.NodeList) {
		for i := range list.Items {
			all[list.Items[i].Name] = &list.Items[i]
		}
	})
	return all, err
}

// pages reads a list, as much at a time as a page has.
func pages[L client.ObjectList](ctx context.Context, reader client.Reader, empty func() L, each func(L)) error {
	for next := ""; ; {
		list := empty()
		if err := reader.List(ctx, list, client.Limit(page), client.Continue(next)); err != nil {
			return fmt.Errorf("list %s: %w", kindOf(list), err)
		}
		each(list)
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

func kindOf(list client.ObjectList) string {
	if kind := list.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return strings.TrimSuffix(kind, "List") + "s"
	}
	return "Nodes"
}

// metadata is an empty list of the metadata of a kind.
func metadata(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}
