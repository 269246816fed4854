// Package plan computes what applying a file would do at a BMM site. It uses dry runs of the API server and reads of
// the BMM API, and writes nothing.
package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/machine"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
)

const (
	// callTimeout bounds a call of the BMM API: reads are answered at once.
	callTimeout = 30 * time.Second
	// settle is how long after a create with unknown outcome the managers search for the resource, by default.
	settle = 3 * time.Minute
	// listAge is longer than a plan takes: the instances of a site are listed once.
	listAge = 10 * time.Minute
)

// Plan is what applying a file would do outside Kubernetes.
type Plan struct {
	// Clusters are the NvidiaBMMClusters of the file, in its order.
	Clusters []*Cluster `json:"clusters"`
	// Summary counts resources by what is done with them.
	Summary map[graph.Action]int `json:"summary"`
}

// Cluster is the plan of one NvidiaBMMCluster and its machines.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// New is true if there is no such object yet.
	New bool `json:"new,omitempty"`
	// Notes say what prevents all of it.
	Notes []string `json:"notes,omitempty"`
	// Steps are those of the NvidiaBMMCluster itself: its networks.
	Steps []graph.Step `json:"steps"`
	// Machines are the existing NvidiaBMMMachines, and those of the file.
	Machines []Machine `json:"machines,omitempty"`
	// Instances are what control plane, MachineDeployments and MachineSets of the file gain or lose beside those.
	Instances []Instances `json:"instances,omitempty"`
}

// Machine is the plan of one NvidiaBMMMachine.
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
	// InstanceType and InstanceTypeName, or MachineID, say what they run on. They aren't given for deleted ones.
	InstanceType     string `json:"instanceType,omitempty"`
	InstanceTypeName string `json:"instanceTypeName,omitempty"`
	MachineID        string `json:"machineID,omitempty"`
	// Networks are the names of subnets or VPC prefixes, in the order of the interfaces.
	Networks []string `json:"networks,omitempty"`
	// Why the action is this one, if it isn't obvious.
	Why string `json:"why,omitempty"`
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
		for _, m := range c.Machines {
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
	file     *file
	engine   *graph.Engine
	clients  *credentials.Cache[*bmm.Client]
	machines *machine.Reconciler
}

// File plans the NvidiaBMMClusters of a file, which is YAML of any number of documents. Objects without a namespace get the
// one given. Policy says where Secrets may lead to. An error means that the file can't be read, or that the API server
// would refuse it; errors of the BMM API are in the plan.
func File(ctx context.Context, c client.Client, policy egress.Policy, namespace string, source []byte) (*Plan, error) {
	p := newPlanner(c, policy)
	if err := p.read(ctx, source, namespace); err != nil {
		return nil, err
	}
	if len(p.file.clusters) == 0 {
		return nil, errors.New("there is no NvidiaBMMCluster in the file (one that a ClusterClass makes has to be written " +
			"out first: clusterctl alpha topology plan -o DIR)")
	}
	plan := &Plan{}
	for _, infra := range p.file.clusters {
		planned, err := p.cluster(ctx, infra)
		if err != nil {
			return nil, fmt.Errorf("NvidiaBMMCluster %s: %w", client.ObjectKeyFromObject(infra.object), err)
		}
		plan.Clusters = append(plan.Clusters, planned)
	}
	plan.sum()
	return plan, nil
}

func newPlanner(c client.Client, policy egress.Policy) *planner {
	c = client.WithFieldValidation(client.NewDryRunClient(c), client.FieldValidation(metav1.FieldValidationStrict))
	p := &planner{Client: c, file: &file{secrets: map[client.ObjectKey]*corev1.Secret{}}}
	p.engine = &graph.Engine{Store: &ledgers.Store{Client: c, Live: c, OnlyLooks: true}, Clock: clock.RealClock{}, Poll: time.Minute, Settle: settle}
	p.clients = &credentials.Cache[*bmm.Client]{
		Reader: overlay{c, p.file.secrets}, Clock: clock.RealClock{},
		Build: bmm.Connect(func(c *bmm.Config) { c.Timeout, c.Egress = callTimeout, policy }),
	}
	p.machines = &machine.Reconciler{
		Client: c, Logins: lifecycle.Logins[*bmm.Client]{Engine: p.engine}, Instances: inventory.New(listAge, clock.RealClock{}),
	}
	return p
}

// overlay reads Secrets as they would be.
type overlay struct {
	client.Reader
	secrets map[client.ObjectKey]*corev1.Secret
}

// Get reads an object.
func (o overlay) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if secret, ok := object.(*corev1.Secret); ok && o.secrets[key] != nil {
		o.secrets[key].DeepCopyInto(secret)
		return nil
	}
	return o.Reader.Get(ctx, key, object, options...)
}
