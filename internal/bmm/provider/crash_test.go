package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/machine"
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, provider.SetupWebhooks) }

const (
	crashPoll   = time.Second
	crashSettle = time.Minute
	// crashCreate is how long a create takes in real time, where its client leaves in between.
	crashCreate = 40 * time.Millisecond
	// crashSpeed ends everything that takes a simulated hour within a millisecond or so.
	crashSpeed = 5_000_000
	peerVPC    = "00000000-0000-4000-8000-00000000beef"
	usersVPC   = "00000000-0000-4000-8000-00000000cafe"
	usersGroup = "00000000-0000-4000-8000-00000000f00d"
)

// world is an NvidiaBMMCluster or an NvidiaBMMMachine in an API server, and a simulated site.
type world struct {
	*bmmtest.Fixture
	t     *testing.T
	clock *clocktesting.FakeClock
	owner graph.Owner
	// reconciler makes the one that is under test, from nothing.
	reconciler func(parts) reconcile.Reconciler
	// before is what there was when the world began, by ID.
	before map[string]string
}

// parts are what a reconciler is made from.
type parts struct {
	client client.Client
	lifecycle.Logins[*bmm.Client]
}

func clusterReconciler(p parts) reconcile.Reconciler {
	return &cluster.Reconciler{Client: p.client, Logins: p.Logins}
}

func machineReconciler(p parts) reconcile.Reconciler {
	return &machine.Reconciler{Client: p.client, Logins: p.Logins, Instances: inventory.New(crashPoll, p.Engine.Clock)}
}

func (w *world) Reconcile(ctx context.Context, f *crashtest.Fuse) error {
	c := f.Client(w.Client)
	p := parts{client: c}
	p.Engine = &graph.Engine{
		Store: &ledgers.Store{Client: c, Live: f.Live(w.Client)}, Recorder: events.NewFakeRecorder(1000), Clock: w.clock, Poll: crashPoll, Settle: crashSettle,
	}
	p.Guard = &credentials.Guard{Client: c, Metadata: c, Live: f.Live(w.Client), Finalizer: cluster.SecretFinalizer}
	p.Clients = &credentials.Cache[*bmm.Client]{Reader: c, Clock: w.clock, Build: bmm.Connect(func(config *bmm.Config) {
		config.APIName, config.Egress = bmm.APINameCarbide, egress.Policy{Loopback: true} // finding the name out is tried elsewhere
		config.HTTP = &http.Client{Transport: f.Transport(leaving{f, w.Sim})}
	})}
	_, err := w.reconciler(p).Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.owner)})
	return err
}

// leaving is how a dead process's last call reaches the service: its connection is closed while the service is working. Before that it
// would be a call of which the service knows later than Pass waits.
type leaving struct {
	fuse    *crashtest.Fuse
	service *sim.Server
}

func (l leaving) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.fuse.Dead() && r.Method == http.MethodPost {
		ctx, leave := context.WithCancel(r.Context())
		defer leave()
		go func() {
			defer leave()
			_ = wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) {
				return l.service.State().Creating > 0, nil
			})
		}()
		r = r.WithContext(ctx)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) Ready() bool {
	w.Expect(w.Read(w.owner)).To(Succeed())
	return meta.IsStatusConditionTrue(w.owner.GetConditions(), graph.ReadyCondition)
}

func (w *world) Delete() { w.Fixture.Delete(w.owner) }

func (w *world) Gone() bool {
	err := w.Read(w.owner)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil
}

// Pass waits until nothing at the site is in transition.
func (w *world) Pass() {
	w.clock.Step(crashSettle)
	settled := []string{"Ready", "Registered", "Error"}
	w.Eventually(func() []string {
		var moving []string
		state := w.Sim.State()
		if state.Creating > 0 {
			moving = append(moving, "a create")
		}
		for id, o := range resources(state) {
			if !slices.Contains(settled, o.status) {
				moving = append(moving, id+" "+o.status)
			}
		}
		return moving
	}).WithPolling(time.Millisecond).Should(BeEmpty())
}

func (w *world) Outside() (keys []string) {
	for id, o := range resources(w.Sim.State()) {
		if _, theirs := w.before[id]; !theirs {
			keys = append(keys, o.key)
		}
	}
	return keys
}

func (w *world) Untouched() error {
	now := resources(w.Sim.State())
	for id, before := range w.before {
		if now[id].json != before {
			return fmt.Errorf("%s was %s and is %s", id, before, now[id].json)
		}
	}
	return nil
}

// later changes the spec of the cluster.
func (w *world) later(change func(*infrav1.NvidiaBMMCluster)) {
	w.Expect(w.Read(w.owner)).To(Succeed())
	change(w.owner.(*infrav1.NvidiaBMMCluster))
	w.Expect(w.Client.Update(w.t.Context(), w.owner)).To(Succeed())
}

// remember takes what there is now as the user's own.
func (w *world) remember() {
	w.before = map[string]string{}
	for id, o := range resources(w.Sim.State()) {
		w.before[id] = o.json
	}
}

// resource of the simulated site.
type resource struct{ key, status, json string }

func resources(s sim.State) map[string]resource {
	all := map[string]resource{}
	add := func(id, key string, status any, object any) {
		text, _ := json.Marshal(object)
		all[id] = resource{key: key, status: fmt.Sprint(status), json: string(text)}
	}
	for _, o := range s.IPBlocks {
		if o.TenantID == "" { // the tenants' come and go with their allocations
			add(o.ID, tag.FromName("parentblock", o.Name).Key, o.Status, o)
		}
	}
	for _, o := range s.Allocations {
		add(o.ID, tag.FromName("allocation", o.Name).Key, o.Status, o)
	}
	for _, o := range s.NetworkSecurityGroups {
		add(o.ID, tag.FromLabels(o.Labels).Key, o.Status, struct{ Name, Labels, Rules any }{o.Name, o.Labels, o.Rules})
	}
	for _, o := range s.VPCs {
		add(o.ID, tag.FromLabels(o.Labels).Key, o.Status, o)
	}
	for _, o := range s.Subnets {
		add(o.ID, tag.FromName("subnet", o.Name).Key, o.Status, o)
	}
	for _, o := range s.VPCPrefixes {
		add(o.ID, tag.FromName("prefix", o.Name).Key, o.Status, o)
	}
	for _, o := range s.VPCPeerings {
		add(o.ID, "peering", o.Status, o)
	}
	for _, o := range s.Instances {
		add(o.ID, tag.FromLabels(o.Labels).Key, o.Status, o)
	}
	return all
}

// newWorld is one whose NvidiaBMMCluster differs from the plainest one as change says.
func newWorld(t *testing.T, change func(*infrav1.NvidiaBMMCluster), changeSite ...func(*sim.Config)) *world {
	api, namespace := crashtest.API(t)
	w := &world{
		Fixture: bmmtest.StartSiteIn(t, api, namespace, append([]func(*sim.Config){func(c *sim.Config) {
			c.Speed = crashSpeed
			c.Sites[0].NativeNetworking = true
		}}, changeSite...)...),
		t: t, clock: clocktesting.NewFakeClock(time.Now()), reconciler: clusterReconciler,
	}
	for id, request := range map[string]any{
		peerVPC:  bmm.VPCCreateRequest{Name: "peer", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer},
		usersVPC: bmm.VPCCreateRequest{Name: "users", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer},
	} {
		_, err := w.Sim.Make(sim.Object{Kind: sim.KindVPC, ID: id, Request: request})
		w.Expect(err).NotTo(HaveOccurred())
	}
	_, err := w.Sim.Make(sim.Object{Kind: sim.KindNetworkSecurityGroup, ID: usersGroup, Request: bmm.NetworkSecurityGroupCreateRequest{
		Name: "users", SiteID: sim.DefaultSiteID,
	}})
	w.Expect(err).NotTo(HaveOccurred())
	w.remember()
	w.owner = w.CreateCluster("demo", change)
	return w
}

var ssh = infrav1.SecurityRule{Name: "ssh", Direction: infrav1.Ingress, Protocol: infrav1.ProtocolTCP, PortRange: "22", Action: infrav1.Allow}

func TestCrash_cluster(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*infrav1.NvidiaBMMCluster)
		keys   []string
		// later is what the spec of a ready cluster is changed to, and changed what there is then.
		later   func(*infrav1.NvidiaBMMCluster)
		changed []string
	}{
		"Ethernet with group and peering": {
			change: func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{Rules: []infrav1.SecurityRule{ssh}}
				c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: peerVPC}}
			},
			keys: []string{"group", "vpc", "subnet/nodes", "peering"},
			later: func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "storage", PrefixLength: ptr.To[int32](25)})
			},
			changed: []string{"group", "vpc", "subnet/nodes", "subnet/storage", "peering"},
		},
		"FNN with an own IP block": {
			change: func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.VPC.NetworkVirtualizationType = infrav1.FabricNativeNetworking
				c.Spec.Subnets, c.Spec.VPCPrefixes = nil, []infrav1.VPCPrefixSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}}
				c.Spec.IPBlock = &infrav1.IPBlockReference{Create: &infrav1.IPBlockCreateSpec{
					Prefix: "10.77.0.0/16", RoutingType: infrav1.RoutingDatacenterOnly,
				}}
			},
			keys: []string{"parentblock/demo", "allocation/demo", "vpc", "prefix/nodes"},
		},
		"the user's own VPC, group and IP block": {
			change: func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.VPC = infrav1.VPCSpec{
					ID: usersVPC, NetworkVirtualizationType: infrav1.EthernetVirtualizer,
					NetworkSecurityGroup: &infrav1.NetworkSecurityGroupSpec{ID: usersGroup},
				}
				c.Spec.IPBlock = &infrav1.IPBlockReference{ID: sim.DefaultIPBlockID}
				c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: peerVPC}}
			},
			keys: []string{"subnet/nodes", "peering"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite := crashtest.Suite{Keys: row.keys, New: func(t *testing.T) crashtest.World { return newWorld(t, row.change) }}
			if row.later != nil {
				suite.Changed, suite.Change = row.changed, func(w crashtest.World) { w.(*world).later(row.later) }
			}
			suite.Run(t)
		})
	}
}

func TestCrash_machine(t *testing.T) {
	t.Parallel()
	crashMachine(t)
}

// A create that is interrupted while the service is working is done all the same, is not done, or is done by the site alone:
// then no client sees the result, and only an operator can delete it.
func TestCrash_machineAtAServiceThatNoticesThatItsClientHasLeft(t *testing.T) {
	t.Parallel()
	for _, fate := range []sim.Abandoned{sim.AbandonedCommitted, sim.AbandonedRolledBack, sim.AbandonedAtSite} {
		t.Run(string(fate), func(t *testing.T) {
			t.Parallel()
			strays := crashMachine(t, func(c *sim.Config) {
				c.Abandoned = fate
				c.Times.Create.Duration = time.Duration(float64(crashCreate) * crashSpeed)
			})
			t.Cleanup(func() {
				NewWithT(t).Expect(strays.Load() > 0).To(Equal(fate == sim.AbandonedAtSite), "clients have left while the site was at work")
			})
		})
	}
}

// crashMachine runs the suite, and counts what is left at the sites without being known to their services.
func crashMachine(t *testing.T, changeSite ...func(*sim.Config)) *atomic.Int64 {
	strays := &atomic.Int64{}
	crashtest.Suite{Keys: []string{"instance"}, New: func(t *testing.T) crashtest.World {
		w := newWorld(t, func(*infrav1.NvidiaBMMCluster) {}, changeSite...)
		for !w.Ready() {
			w.Expect(w.Reconcile(t.Context(), crashtest.Unbroken())).To(Succeed())
			w.Pass()
		}
		w.remember()
		t.Cleanup(func() { strays.Add(int64(len(w.Sim.State().Strays))) })
		w.owner, w.reconciler = w.CreateMachine("demo", "worker-1", []byte("#cloud-config\n")), machineReconciler
		return w
	}}.Run(t)
	return strays
}
