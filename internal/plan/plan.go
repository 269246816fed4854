// Package plan computes what applying a file would do outside Kubernetes. It uses dry runs of the API server and reads of the
// outside service, and writes nothing.
package plan

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
)

// Plan is what applying a file would do outside Kubernetes.
type Plan struct {
	// Clusters are those of the file, in its order.
	Clusters []*Cluster `json:"clusters"`
	// Summary counts resources by what is done with them.
	Summary map[graph.Action]int `json:"summary"`
}

// Cluster is the plan of the infrastructure of one cluster, and its machines.
type Cluster struct {
	// Kind of the object.
	Kind      string `json:"-"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// New is true if there is no such object yet.
	New bool `json:"new,omitempty"`
	// Notes say what prevents all of it.
	Notes []string `json:"notes,omitempty"`
	// Steps are those of the object itself: its networks.
	Steps []graph.Step `json:"steps"`
	// Machines are the existing ones, and those of the file.
	Machines []Machine `json:"machines,omitempty"`
	// Others are more objects with something outside, such as images: the existing ones, and those of the file.
	Others []Machine `json:"others,omitempty"`
	// Instances are what control plane, MachineDeployments and MachineSets of the file gain or lose beside those.
	Instances []Instances `json:"instances,omitempty"`
}

// Machine is the plan of one machine, or of another object of the cluster's.
type Machine struct {
	Name  string       `json:"name"`
	Steps []graph.Step `json:"steps"`
}

// Instances are a number of instances that Cluster API creates machines for, or deletes.
type Instances struct {
	// Kind and Name of the object that they are replicas of.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Action is create, delete, or fail if the instances can't be created.
	Action graph.Action `json:"action"`
	Count  int          `json:"count"`
	// Instance is what one is like. It isn't given for deleted ones.
	Instance
	// Why the action is this one, if it isn't obvious.
	Why string `json:"why,omitempty"`
}

// Instance is what an instance would be like.
type Instance struct {
	// Type and TypeName, or MachineID, say what it runs on.
	Type      string `json:"instanceType,omitempty"`
	TypeName  string `json:"instanceTypeName,omitempty"`
	MachineID string `json:"machineID,omitempty"`
	// Networks are their names, in the order of the interfaces.
	Networks []string `json:"networks,omitempty"`
}

// Failures is how many steps can't be done.
func (p *Plan) Failures() int { return p.Summary[graph.ActionFail] }

func (p *Plan) sum() {
	p.Summary = map[graph.Action]int{}
	count := func(steps []graph.Step) {
		for _, s := range steps {
			p.Summary[s.Action]++
		}
	}
	for _, c := range p.Clusters {
		count(c.Steps)
		for _, m := range slices.Concat(c.Machines, c.Others) {
			count(m.Steps)
		}
		for _, i := range c.Instances {
			p.Summary[i.Action] += i.Count
		}
	}
}

// planner plans the clusters of one file.
type planner struct {
	// Client reads the actual state. Its writes are dry runs.
	client.Client
	system System
	file   *file
	open   func(cluster client.Object) Infrastructure
}

// Options of a plan.
type Options struct {
	// Policy says where Secrets may lead to.
	Policy egress.Policy
	// Namespace of objects that name none.
	Namespace string
	// GlobalNamespace has the Secrets of objects that are in no namespace.
	GlobalNamespace string
}

// File plans the clusters of a file, which is YAML of any number of documents. An error means that the file can't be read, or that the API server would refuse it;
// errors of the outside service are in the plan.
func File(ctx context.Context, c client.Client, system System, o Options, source []byte) (*Plan, error) {
	c = client.WithFieldValidation(client.NewDryRunClient(c), client.FieldValidation(metav1.FieldValidationStrict))
	p := &planner{Client: c, system: system, file: &file{applied: map[string][]applied{}, secrets: map[client.ObjectKey]*corev1.Secret{}}}
	p.open = system.Open(newAccess(overlay{c, p}, overlay{c, p}, o))
	if err := p.read(ctx, source, o.Namespace); err != nil {
		return nil, err
	}
	clusters := p.file.applied[system.Cluster]
	if len(clusters) == 0 {
		return nil, fmt.Errorf("there is no %s in the file (one that a ClusterClass makes has to be written "+
			"out first: clusterctl alpha topology plan -o DIR)", system.Cluster)
	}
	plan := &Plan{}
	for _, infra := range clusters {
		planned, err := p.cluster(ctx, infra)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", system.Cluster, client.ObjectKeyFromObject(infra), err)
		}
		plan.Clusters = append(plan.Clusters, planned)
	}
	plan.sum()
	return plan, nil
}
