package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/graph"
)

// wanted computes the instances that the sets of machines in the file want beside the existing ones.
type wanted struct {
	*planner
	outside   Infrastructure
	owner     *clusterv1.Cluster
	namespace string
	machines  []client.Object
}

// set is an object that Cluster API makes machines for.
type set struct {
	kind, name   string
	controlPlane bool
	// label says which machines are its own.
	label    string
	template string
	domain   string
	// replicas is nil if the file leaves them to others.
	replicas *int64
}

// instances of all sets of the cluster in the file, in its order.
func (w *wanted) instances(ctx context.Context) []Instances {
	var all []Instances
	for _, object := range w.file.objects {
		if s, ok := w.set(object); ok {
			all = append(all, w.of(ctx, s)...)
		}
	}
	return all
}

// set reads an object of the file, if it is a set of this cluster's machines.
func (w *wanted) set(o *unstructured.Unstructured) (set, bool) {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(o.Object, path...)
		return value
	}
	s := set{kind: o.GetKind(), name: o.GetName()}
	template := []string{"spec", "template", "spec", "infrastructureRef"}
	mine := text("spec", "clusterName") == w.owner.Name
	switch {
	case o.GetNamespace() != w.namespace:
		return s, false
	case s.kind == w.owner.Spec.ControlPlaneRef.Kind && s.name == w.owner.Spec.ControlPlaneRef.Name:
		s.controlPlane, s.label, mine = true, clusterv1.MachineControlPlaneNameLabel, true
		template = []string{"spec", "machineTemplate", "spec", "infrastructureRef"}
		if text(append(template, "name")...) == "" {
			template = []string{"spec", "machineTemplate", "infrastructureRef"} // before v1beta2
		}
	case s.kind == "MachineDeployment":
		s.label = clusterv1.MachineDeploymentNameLabel
	case s.kind == "MachineSet":
		s.label = clusterv1.MachineSetNameLabel
	default:
		return s, false
	}
	s.template = text(append(template, "name")...)
	s.domain = text("spec", "template", "spec", "failureDomain")
	if n, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); found {
		s.replicas = &n
	}
	return s, mine && text(append(template, "kind")...) == w.system.Template
}

// of compares what a set wants with the machines that it has. Those of another template are replaced.
func (w *wanted) of(ctx context.Context, s set) []Instances {
	var same, others int
	for _, m := range w.machines {
		switch {
		case m.GetLabels()[s.label] != format.MustFormatValue(s.name) || !m.GetDeletionTimestamp().IsZero():
		case m.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation] == s.template:
			same++
		default:
			others++
		}
	}
	replicas := int(ptr.Deref(s.replicas, int64(max(1, same+others))))
	var all []Instances
	add := func(action graph.Action, count int, why string) {
		if count > 0 {
			all = append(all, Instances{Kind: s.kind, Name: s.name, Action: action, Count: count, Why: why})
		}
	}
	if add(graph.ActionCreate, replicas-same, ""); len(all) > 0 {
		w.describe(ctx, s, &all[0])
	}
	add(graph.ActionDelete, others, "made from another template than "+s.template+": Cluster API replaces them")
	add(graph.ActionDelete, same-replicas, "Cluster API chooses which")
	return all
}

// describe describes new instances of a set, or says why they can't be created.
func (w *wanted) describe(ctx context.Context, s set, i *Instances) {
	domains := w.domains(s)
	if len(domains) > 1 {
		i.Why = "Cluster API spreads them over the failure domains " + strings.Join(domains, ", ")
	}
	for n, domain := range domains {
		like, err := w.like(ctx, s, domain)
		if err != nil {
			i.Action, i.Why = graph.ActionFail, err.Error()
			return
		}
		if n == 0 {
			i.Instance = like
		}
		if like.Type != i.Type {
			i.Type, i.TypeName = "", ""
		}
		if !slices.Equal(like.Networks, i.Networks) {
			i.Networks = nil
		}
	}
}

// like describes an instance of a set in a failure domain.
func (w *wanted) like(ctx context.Context, s set, domain string) (Instance, error) {
	template, err := w.template(ctx, s.template)
	if err != nil {
		return Instance{}, err
	}
	return w.outside.Instance(ctx, template, s.controlPlane, domain)
}

// domains are the failure domains that the machines of a set may be put into; one without a name if there are none.
func (w *wanted) domains(s set) (all []string) {
	if s.controlPlane {
		all = w.outside.Domains()
	}
	if len(all) == 0 {
		all = []string{s.domain}
	}
	return all
}

// template is that of the file, or else the existing one.
func (w *wanted) template(ctx context.Context, name string) (client.Object, error) {
	if found := w.file.find(w.system.Template, w.namespace, name); found != nil {
		return found, nil
	}
	template, err := w.empty(w.system.Template)
	if err != nil {
		return nil, err
	}
	err = w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, template)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no %s %s: add it to the file", w.system.Template, name)
	}
	return template, err
}
