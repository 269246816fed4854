package plan

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// settle is how long after a create with unknown outcome the managers search for the resource, by default.
const settle = 3 * time.Minute

// System is what has to be known of a Cluster API infrastructure provider.
type System struct {
	// Name of its folder in config/.
	Name string
	// Version of its kinds, and those that are planned: of clusters, of machines and of the machines' templates. A system without machines
	// leaves their kinds empty.
	Version                    schema.GroupVersion
	Cluster, Machine, Template string
	// Others are kinds of more objects that have something outside for a cluster, such as images. With them its Infrastructure is a Planner
	// of these.
	Others []string
	// Inputs are kinds that say how a cluster is made, such as where it may be. Access shows those of the file as they would be.
	Inputs []string
	// Secret is the path of the name of the credentials in a cluster. Without one, any Secret of the file may be some.
	Secret []string
	// Script is the path of a text in a cluster that may have variables of its own, which look like those of a template. Optional.
	Script []string
	// Notes say what prevents all of a cluster that isn't the infrastructure of one of Cluster API's. Nil if clusters are that.
	Notes func(cluster client.Object) []string
	// Open is called once for a file; what it returns, once for each cluster.
	Open func(Access) func(cluster client.Object) Infrastructure
}

// kinds are all that are read of a file.
func (s System) kinds() []string {
	return slices.Concat([]string{s.Cluster, s.Template, s.Machine}, s.Others, s.Inputs)
}

// Access is what a system makes its graphs with.
type Access struct {
	// Client writes nothing: its writes are dry runs.
	client.Client
	Engine *graph.Engine
	// Secrets are those of the file as they would be, and else the existing ones.
	Secrets credentials.Reader
	Options
}

// noter is an Infrastructure that has more notes than its object says by itself.
type noter interface {
	Notes(ctx context.Context) []string
}

// Infrastructure plans what one cluster has outside.
type Infrastructure interface {
	// Networks are the steps of the cluster itself. If they aren't ok, nothing else of it can be planned: without credentials
	// or ledger.
	Networks(ctx context.Context, owner *clusterv1.Cluster) (steps []graph.Step, ok bool)
	// Machine has the steps of one of its machines; owner is nil if there is no Machine yet.
	Machine(ctx context.Context, owner *clusterv1.Machine, machine client.Object) []graph.Step
	// Domains are the failure domains that control plane machines are spread over.
	Domains() []string
	// Instance describes one that would be created from a template. The error says why it can't be.
	Instance(ctx context.Context, template client.Object, controlPlane bool, domain string) (Instance, error)
}

// Planner is an Infrastructure of a system that has other objects, too.
type Planner interface {
	Infrastructure
	// Other has the steps of one of them, unless it isn't of this cluster.
	Other(ctx context.Context, object client.Object) (steps []graph.Step, mine bool)
}

// NoMachines is a part of the Infrastructure of a system that has clusters only.
type NoMachines struct{}

// Machine has no steps.
func (NoMachines) Machine(context.Context, *clusterv1.Machine, client.Object) []graph.Step {
	return nil
}

// Domains are none.
func (NoMachines) Domains() []string { return nil }

// Instance describes nothing.
func (NoMachines) Instance(context.Context, client.Object, bool, string) (Instance, error) {
	return Instance{}, nil
}

// Failed is the step of something that the manager reports in a condition.
func Failed(condition string, err error) []graph.Step {
	return []graph.Step{{Key: condition, Action: graph.ActionFail, Why: err.Error()}}
}

func newAccess(c client.Client, secrets credentials.Reader, o Options) Access {
	store := &ledgers.Store{Client: c, Live: c, OnlyLooks: true}
	return Access{
		Client: c, Secrets: secrets, Options: o,
		Engine: &graph.Engine{Store: store, Clock: clock.RealClock{}, Poll: time.Minute, Settle: settle},
	}
}
