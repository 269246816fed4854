package publish

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// namesTimeout is how long names of the site and of instance types are waited for. They are asked for once an hour.
const namesTimeout = 5 * time.Second

// ledgerTimeout bounds the read of the ledger of a machine that is gone.
const ledgerTimeout = 5 * time.Second

// wanted is what is to be published to a workload cluster.
type wanted struct {
	// site is nil if its names aren't known at the moment.
	site      *publication.Site
	instances map[string]publication.Instance
	// unknown are the IDs of those whose state isn't known at the moment: what was published of them stays.
	unknown map[string]bool
	// seen is as of when all of it is known.
	seen time.Time
}

// wanted is what the manager knows of the instances of a cluster's machines. It reads only names from the BMM API.
func (r *Reconciler) wanted(
	ctx context.Context, infra *infrav1.NvidiaBMMCluster, machines []infrav1.NvidiaBMMMachine, buried []publication.Instance,
) wanted {
	w := wanted{instances: map[string]publication.Instance{}, unknown: map[string]bool{}, seen: r.Clock.Now()}
	for _, gone := range buried {
		w.instances[gone.ID] = gone
	}
	names := r.names(ctx, infra)
	w.site = names.site(infra.Status.SiteID)
	for i := range machines {
		machine := &machines[i]
		id, err := providerid.Parse(machine.Spec.ProviderID)
		if err != nil {
			continue // there is no instance yet
		}
		if lost(machine) {
			w.instances[id.InstanceID] = tombstone(machine, id)
			continue
		}
		if known, at, ok := names.instance(id); ok {
			w.instances[id.InstanceID] = known
			if at.Before(w.seen) {
				w.seen = at
			}
		} else {
			w.unknown[id.InstanceID] = true
		}
	}
	return w
}

// lost reports that the engine has proven that a machine's instance is gone.
func lost(machine *infrav1.NvidiaBMMMachine) bool {
	condition := meta.FindStatusCondition(machine.Status.Conditions, infrav1.InstanceProvisionedCondition)
	return condition != nil && condition.Status == metav1.ConditionFalse && condition.Reason == phases.ReasonLost
}

// released reports that the engine has completely deleted the instance of a machine that is gone: then it has closed the ledger,
// which is being deleted, too. That of a machine whose finalizer a user has removed stays; one that was moved says so.
func (r *Reconciler) released(ctx context.Context, machine *infrav1.NvidiaBMMMachine) bool {
	if _, moved := machine.Annotations[clusterctlv1.DeleteForMoveAnnotation]; moved || machine.DeletionTimestamp.IsZero() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	ledger, err := ledgers.Of(ctx, r.Secrets, r.Scheme(), machine)
	return err == nil && (ledger == nil || ledger.Spec.Closed)
}

// tombstone of a machine's instance.
func tombstone(machine *infrav1.NvidiaBMMMachine, id providerid.ProviderID) publication.Instance {
	return publication.Instance{ID: id.InstanceID, SiteID: id.SiteID, Name: machine.Name, Gone: true}
}

// names of the sites and types of a cluster's instances.
type names struct {
	of func(*bmm.Instance) (topology.Place, bool)
	// known is how an instance was seen last, and when.
	known func(providerid.ProviderID) (bmm.Instance, time.Time, bool)
}

func (r *Reconciler) names(ctx context.Context, infra *infrav1.NvidiaBMMCluster) names {
	api, err := r.Clients.Client(ctx, cluster.SecretOf(infra))
	failed := err != nil
	return names{
		of: func(i *bmm.Instance) (place topology.Place, ok bool) {
			if failed { // a site that doesn't answer isn't waited for repeatedly
				return place, false
			}
			turn, cancel := context.WithTimeout(ctx, namesTimeout)
			defer cancel()
			place, err := r.Places.Of(turn, api, i)
			failed = err != nil && fault.ClassOf(err) != fault.Invalid // which is about the type of this one
			return place, err == nil
		},
		known: func(id providerid.ProviderID) (bmm.Instance, time.Time, bool) {
			if api == nil {
				return bmm.Instance{}, time.Time{}, false
			}
			return r.Instances.Known(api, id.SiteID, id.InstanceID)
		},
	}
}

func (n names) site(id string) *publication.Site {
	if id == "" {
		return nil
	}
	place, ok := n.of(&bmm.Instance{SiteID: id})
	if !ok {
		return nil
	}
	return &publication.Site{ID: id, Zone: place.Zone, Region: place.Region}
}

func (n names) instance(id providerid.ProviderID) (publication.Instance, time.Time, bool) {
	instance, at, ok := n.known(id)
	if !ok {
		return publication.Instance{}, at, false
	}
	place, ok := n.of(&instance)
	return publication.Of(&instance, place.InstanceType), at, ok
}
