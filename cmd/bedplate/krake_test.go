package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/testenv"
)

// krakeEnds are a management cluster and an infrastructure manager, each behind a wire.
type krakeEnds struct {
	*kraketest.Fixture
	t                   *testing.T
	management, manager *wire
	kubeconfig          string
}

func startKrake(t *testing.T, start func(*testing.T, ...func(*sim.Config)) *kraketest.Fixture, change ...func(*sim.Config)) *krakeEnds {
	t.Helper()
	e := &krakeEnds{Fixture: start(t, change...), t: t}
	server := httptest.NewServer(e.IM)
	t.Cleanup(server.Close)
	e.manager = newWire(t, server.URL, http.DefaultTransport)
	e.management, e.kubeconfig = wireManagement(t, e.Namespace)
	return e
}

func (e *krakeEnds) run(stdin string, args ...string) (string, error) {
	e.t.Helper()
	args = append(args, "--kubeconfig", e.kubeconfig)
	if args[0] == "plan" || args[0] == "orphans" {
		args = append(args, loopback, "--global-namespace", e.Namespace)
	}
	return runWith(e.t, catalogue{bmmSystem, krakeSystem}, strings.NewReader(stdin), args...)
}

func (e *krakeEnds) succeeds(stdin string, args ...string) string {
	e.t.Helper()
	out, err := e.run(stdin, args...)
	e.Expect(err).NotTo(HaveOccurred(), out)
	return out
}

func (e *krakeEnds) onlyRead() {
	e.t.Helper()
	e.Expect(e.management.written()).To(BeEmpty())
	e.Expect(e.manager.written()).To(BeEmpty())
}

// createCloud makes the cloud of the fixture, whose provider is reached by the wire. For the controllers it is the same.
func (e *krakeEnds) createCloud() {
	e.t.Helper()
	e.CreateCloud()
	provider := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: kraketest.ProviderName}}
	kraketest.Change(e.Fixture, provider, func(p *krakev1.InfrastructureProvider) { p.Spec.IM.URL = e.manager.url })
}

// clusterFile is a Cluster called demo, with a template and more of its spec.
func clusterFile(template string, spec ...string) string {
	return "\n---\napiVersion: krake.bedplate.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  " +
		strings.Join(append(spec, "tosca: |"), "\n  ") + "\n    " + strings.ReplaceAll(strings.TrimSpace(template), "\n", "\n    ") + "\n"
}

// global is all that a Cluster is made on, and nothing of it exists.
const global = `
{apiVersion: v1, kind: Secret, metadata: {name: im}, stringData: {username: krake, password: secret}}
---
{apiVersion: v1, kind: Secret, metadata: {name: dummy}, stringData: {type: Dummy}}
---
apiVersion: krake.bedplate.dev/v1alpha1
kind: GlobalInfrastructureProvider
metadata: {name: NAMESPACE}
spec: {type: im, im: {url: "ENDPOINT", secretRef: {name: im}}}
---
apiVersion: krake.bedplate.dev/v1alpha1
kind: GlobalMetricsProvider
metadata: {name: NAMESPACE}
spec: {type: static, static: {metrics: {load: 0.5}}}
---
apiVersion: krake.bedplate.dev/v1alpha1
kind: GlobalMetric
metadata: {name: NAMESPACE}
spec: {min: 0, max: 1, provider: {name: NAMESPACE, metric: load}}
---
apiVersion: krake.bedplate.dev/v1alpha1
kind: GlobalCloud
metadata: {name: NAMESPACE-far, labels: {test: NAMESPACE}}
spec: {type: im, im: {secretRef: {name: dummy}, infrastructureProvider: {name: NAMESPACE}}}
---
apiVersion: krake.bedplate.dev/v1alpha1
kind: GlobalCloud
metadata: {name: NAMESPACE-near, labels: {test: NAMESPACE}}
spec: {type: im, im: {secretRef: {name: dummy}, infrastructureProvider: {name: NAMESPACE}, metrics: [{name: NAMESPACE, weight: 1}]}}
`

// Everything is in the file: the plan chooses among its clouds, and logs in with its Secrets.
func TestPlan_ofAKrakeFileWithAllThatItNeeds(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	file := strings.NewReplacer("NAMESPACE", e.Namespace, "ENDPOINT", e.manager.url).Replace(global) +
		clusterFile("# ${SCRIPT} is its own\n"+kraketest.Template,
			"constraints: {cloud: {labels: [test is "+e.Namespace+"]}}")
	out := e.succeeds(file, "plan", "-f", "-")
	golden(e, "plan-krake", strings.ReplaceAll(out, e.Namespace, "NAMESPACE"))
	e.onlyRead()
	e.Expect(e.Called("getEstimate")).To(Equal(1), "IM says whether it would take the template")
	e.Expect(e.IM.State()).To(BeEmpty())
}

func TestPlan_ofTheKrakeExample(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	text, err := examples.Render("krake", map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": e.Namespace, "IM_URL": e.manager.url, "IM_USERNAME": "krake", "IM_PASSWORD": "secret",
		"OPENSTACK_USERNAME": "u", "OPENSTACK_PASSWORD": "p", "EC2_ACCESS_KEY_ID": "u", "EC2_SECRET_ACCESS_KEY": "p",
		"WORKER_MACHINE_COUNT": "2",
	})
	e.Expect(err).NotTo(HaveOccurred())
	golden(e, "plan-krake-example", strings.ReplaceAll(e.succeeds(string(text), "plan", "-f", "-"), e.Namespace, "NAMESPACE"))
	e.onlyRead()
}

// A plan says the same as the scheduler would, and can't go on without a cloud.
func TestPlan_ofAKrakeClusterThatNoCloudMatches(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	e.createCloud()
	out, err := e.run(clusterFile(kraketest.Template, "constraints: {cloud: {labels: [location is DE]}}"), "plan", "-f", "-")
	e.Expect(err).To(MatchError(ContainSubstring("1 steps of the plan can't be done")))
	e.Expect(out).To(And(ContainSubstring("no cloud matches"), ContainSubstring(`Cloud cloud: label "location is DE" isn't met: it has no such label`)))
	e.onlyRead()
}

// What IM refuses can't be done; nothing of it is made.
func TestPlan_ofAKrakeTemplateThatIMRefuses(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	e.createCloud()
	out, err := e.run(clusterFile(strings.ReplaceAll(kraketest.Template, "indigo.Compute", "Container")), "plan", "-f", "-")
	e.Expect(err).To(HaveOccurred())
	e.Expect(out).To(And(ContainSubstring("! TemplateValid"), ContainSubstring("no machine")))
	e.onlyRead()
	e.Expect(e.IM.State()).To(BeEmpty())
}

// withCluster has a Cluster whose infrastructure was created, and no controllers any more.
func withCluster(t *testing.T) (*krakeEnds, *krakev1.Cluster) {
	e := startKrake(t, kraketest.StartIM)
	e.createCloud()
	stop := e.RunControllers()
	object := e.CreateCluster("demo")
	e.UntilState(object, krakev1.StateConnecting)
	stop()
	return e, object
}

// A plan of a Cluster that exists shows by hashes that its template changes, and what has to be repaired.
func TestPlan_ofAKrakeClusterThatChanges(t *testing.T) {
	t.Parallel()
	e, object := withCluster(t)
	plan := func(template string) string { return e.succeeds(clusterFile(template), "plan", "-f", "-") }
	e.Expect(plan(kraketest.Template)).To(And(ContainSubstring("= infrastructure"), ContainSubstring("= Secret"), ContainSubstring("Nothing to do")))
	e.Expect(plan("# the same, in other words\n" + kraketest.Template)).To(ContainSubstring("Nothing to do"))
	out := plan(strings.Replace(kraketest.Template, "count: 1", "count: 3", 1))
	e.Expect(out).To(And(ContainSubstring("~ infrastructure"), MatchRegexp(`template: [0-9a-f]{12} → [0-9a-f]{12}`), ContainSubstring("> Cloud")))
	e.Expect(e.IM.SetStatus(sim.Status{ID: object.Status.ClusterID, State: im.Unconfigured})).To(Succeed())
	e.Expect(plan(kraketest.Template)).To(MatchRegexp(`\* infrastructure +` + object.Status.ClusterID))
	e.onlyRead()
	e.Expect(e.Called("updateInfrastructure") + e.Called("reconfigureInfrastructure")).To(BeZero())
}

func TestPlan_ofAKrakeClusterForWhichNothingIsMade(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	const registered = "apiVersion: krake.bedplate.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec: {kubeconfig: {secretRef: {name: mine}}}\n"
	out := e.succeeds(registered, "plan", "-f", "-")
	e.Expect(out).To(And(ContainSubstring("it has a kubeconfig, and is bound to no cloud: it is only observed"), ContainSubstring("Nothing to do.")))
	e.createCloud()
	out = e.succeeds(clusterFile(kraketest.Template, "paused: true"), "plan", "-f", "-")
	e.Expect(out).To(And(ContainSubstring("it is paused"), ContainSubstring("+ infrastructure")))
	e.onlyRead()
}

// A Cluster was restored without its status, and the scheduler hasn't seen it yet: it isn't only observed.
func TestPlan_ofAKrakeClusterThatWasRestored(t *testing.T) {
	t.Parallel()
	e, object := withCluster(t)
	e.loseCluster(object)
	e.Delete(e.Secret("demo-kubeconfig", nil)) // as the garbage collector does
	e.Create(e.NewCluster("demo", func(c *krakev1.Cluster) {
		c.Spec, c.Annotations = object.Spec, map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	}))
	out := e.succeeds(clusterFile(kraketest.Template, "kubeconfig: {secretRef: {name: demo-kubeconfig}}"), "plan", "-f", "-")
	e.Expect(out).To(And(MatchRegexp(`> Cloud +cloud`), ContainSubstring("as its ledger says"), ContainSubstring("= infrastructure"),
		Not(ContainSubstring("only observed"))))
	e.onlyRead()
}

// loseCluster takes a Cluster's finalizer off, so that its ledger is all that is left.
func (e *krakeEnds) loseCluster(object *krakev1.Cluster) *ledgerv1.Ledger {
	e.t.Helper()
	ledger := e.Ledger(object)
	kraketest.Change(e.Fixture, object, func(c *krakev1.Cluster) { c.Finalizers = nil })
	e.Expect(client.IgnoreNotFound(e.Client.Delete(e.t.Context(), object))).To(Succeed())
	e.UntilGone(object)
	return ledger
}

// orphans with the login of the fixture's provider.
func (e *krakeEnds) orphans(args ...string) string {
	e.t.Helper()
	login := e.Namespace + "/" + kraketest.ProviderName
	return e.succeeds("", append([]string{"orphans", "--system", "krake", "--secret", login}, args...)...)
}

const noOrphans = "No orphans"

func TestOrphans_ofKrakeAreInfrastructuresThatNoClusterClaims(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM, func(c *sim.Config) { // a read of the state brings the record back, all the time
		c.Times.Delete.Duration, c.Times.Race.Duration = time.Hour, time.Hour
	})
	e.createCloud()
	own := e.MakeOwn()
	stop := e.RunControllers()
	lives, lost := e.CreateCluster("lives"), e.CreateCluster("lost")
	e.UntilState(lives, krakev1.StateConnecting)
	e.UntilState(lost, krakev1.StateConnecting)
	e.Expect(e.orphans()).To(HavePrefix(noOrphans))
	stop()
	ledger, id := e.loseCluster(lost), lost.Status.ClusterID
	out := e.orphans()
	e.Expect(out).To(And(ContainSubstring(id), ContainSubstring(e.Namespace+"/cloud"), ContainSubstring("lost is gone, and only its ledger is left")))
	e.Expect(out).NotTo(Or(ContainSubstring(lives.Status.ClusterID), ContainSubstring(own)))
	e.onlyRead()
	e.Eventually(func() string { return e.orphans("--delete", "--owner", ledger.Spec.OwnerID) }).Should(HavePrefix(noOrphans))
	e.UntilGone(ledger)
	e.Expect(e.IM.State()).To(ConsistOf(HaveField("ID", lives.Status.ClusterID), HaveField("ID", own)), "no record has come back")
	e.Expect(e.Intact(own)).To(Succeed())
}

// Without a ledger nothing says in which cloud the machines are: with another one's login they would stay, and be forgotten.
func TestOrphans_ofKrakeWithoutALedgerNeedTheirCloud(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	e.createCloud()
	stop := e.RunControllers()
	lost := e.CreateCluster("lost")
	e.UntilState(lost, krakev1.StateConnecting)
	stop()
	ledger := e.loseCluster(lost)
	kraketest.Change(e.Fixture, ledger, func(l *ledgerv1.Ledger) { l.Finalizers = nil })
	e.Expect(client.IgnoreNotFound(e.Client.Delete(t.Context(), ledger))).To(Succeed())
	e.Expect(e.orphans()).To(ContainSubstring(lost.Status.ClusterID))
	deleting := []string{"orphans", "--system", "krake", "--secret", e.Namespace + "/" + kraketest.ProviderName, "--delete", "--owner", ledger.Spec.OwnerID}
	out, err := e.run("", deleting...)
	e.Expect(err).To(HaveOccurred())
	e.Expect(out).To(ContainSubstring("name the cloud with --site"))
	out, err = e.run("", append(deleting, "--site", e.Namespace+"/none")...)
	e.Expect(err).To(HaveOccurred(), out)
	e.Expect(out).To(ContainSubstring("Cloud " + e.Namespace + "/none doesn't exist"))
	e.Expect(e.manager.written()).To(BeEmpty())
	e.Eventually(func() string {
		return e.orphans("--delete", "--owner", ledger.Spec.OwnerID, "--site", e.Namespace+"/"+kraketest.CloudName)
	}).Should(HavePrefix(noOrphans))
	e.Expect(e.IM.State()).To(BeEmpty())
}

// An abandoned Cluster's infrastructure is left on purpose, and listed.
func TestOrphans_ofKrakeAreWhatWasAbandoned(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.Start)
	e.createCloud()
	object := e.CreateCluster("demo")
	e.UntilState(object, krakev1.StateConnecting)
	kraketest.Change(e.Fixture, object, func(c *krakev1.Cluster) { c.Annotations = map[string]string{krakev1.AbandonAnnotation: "true"} })
	e.Delete(object)
	e.UntilGone(object)
	e.Expect(e.orphans()).To(And(ContainSubstring(object.Status.ClusterID), ContainSubstring("only its ledger is left")))
	e.onlyRead()
}

// To IM another password is another user: what the old one has made isn't gone because it isn't listed.
func TestOrphans_ofKrakeAreNotForgottenWhenThePasswordChanges(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	e.createCloud()
	stop := e.RunControllers()
	lost := e.CreateCluster("lost")
	e.UntilState(lost, krakev1.StateConnecting)
	stop()
	ledger := e.loseCluster(lost)
	kraketest.Change(e.Fixture, e.Secret(kraketest.ProviderName, nil), func(s *corev1.Secret) { s.Data[im.SecretKeyPassword] = []byte("another") })
	login := e.Namespace + "/" + kraketest.ProviderName
	out, err := e.run("", "orphans", "--system", "krake", "--secret", login, "--delete", "--owner", ledger.Spec.OwnerID)
	e.Expect(err).To(MatchError(ContainSubstring("the report is incomplete")))
	e.Expect(out).To(And(ContainSubstring("INCOMPLETE"), ContainSubstring("put back the login that made it")))
	e.Expect(e.Read(ledger)).To(Succeed(), "it is all that says what is there")
}

// The Secrets of Global kinds are in the manager's namespace: a tenant's Cluster on a GlobalCloud is a claim in the account of these.
func TestOrphans_ofKrakeAreNotWhatClustersHaveOnGlobalClouds(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	tenant := testenv.Namespace(t)
	e.createCloud()
	stop := e.RunControllers()
	object := e.CreateCluster("demo")
	e.UntilState(object, krakev1.StateConnecting)
	stop()
	ledger := e.Ledger(object)
	elsewhere := &ledgerv1.Ledger{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: ledger.Name}, Spec: *ledger.Spec.DeepCopy()}
	e.Create(elsewhere)
	moved := e.NewCluster("demo", func(c *krakev1.Cluster) { c.Namespace = tenant })
	e.Create(moved)
	e.loseCluster(object)
	kraketest.Change(e.Fixture, ledger, func(l *ledgerv1.Ledger) { l.Finalizers = nil })
	e.Expect(client.IgnoreNotFound(e.Client.Delete(t.Context(), ledger))).To(Succeed())
	out := e.orphans()
	e.Expect(out).To(Equal(noOrphans+".\n"), "it is the tenant's, with the login of the manager's namespace")
}

func TestDescribe_showsWhereAKrakeClusterIsAndWhy(t *testing.T) {
	t.Parallel()
	e, object := withCluster(t)
	called := e.IM.Calls()
	nodes := []krakev1.NodeStatus{
		{Name: "wn-1", Conditions: []krakev1.NodeCondition{
			{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "no network"},
			{Type: "MemoryPressure", Status: "True", Message: "it has 10 MiB"}, {Type: "DiskPressure", Status: "False", Message: "enough"},
		}},
		{Name: "front-0", Conditions: []krakev1.NodeCondition{{Type: "Ready", Status: "True"}}},
	}
	e.Eventually(func() error {
		err := e.Read(object)
		object.Status.Nodes = nodes
		return errors.Join(err, e.Client.Status().Update(t.Context(), object))
	}).Should(Succeed())
	for _, args := range [][]string{{"krake/demo"}, {"krc", "demo"}} {
		out := e.succeeds("", append([]string{"describe"}, args...)...)
		e.Expect(out).To(And(
			ContainSubstring("infrastructure "+object.Status.ClusterID), ContainSubstring("state "+string(object.Status.State)), ContainSubstring("cloud Cloud cloud, chosen"),
			ContainSubstring("Cloud cloud: chosen (score 0, no metrics)"), ContainSubstring("Node/wn-1"), ContainSubstring("no network"),
			ContainSubstring("MemoryPressure it has 10 MiB"), Not(ContainSubstring("enough")),
			ContainSubstring("VM 0 configured"), ContainSubstring("VM 1 configured"), Not(ContainSubstring("log of")),
		))
	}
	e.Expect(e.IM.Calls()).To(Equal(called), "nothing outside is asked")
	e.onlyRead()

	for _, name := range []string{"krake/demo", "krc/demo"} {
		e.Expect(e.succeeds("", "ledger", "show", name)).To(And(ContainSubstring(object.Status.ClusterID), ContainSubstring("krake at ")))
	}
	_, err := e.run("", "ledger", "show", "cluster/demo")
	e.Expect(err).To(MatchError(ContainSubstring("krake/NAME")))
}

// The end of the log of a failed infrastructure is what a user wants to see.
func TestDescribe_showsTheLogOfAKrakeClusterThatHasFailed(t *testing.T) {
	t.Parallel()
	e := startKrake(t, kraketest.StartIM)
	e.createCloud()
	e.Expect(e.IM.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: "out of cheese", Times: -1})).To(Succeed())
	e.RunControllers()
	e.CreateCluster("demo")
	e.Eventually(func() string { return e.succeeds("", "describe", "krake", "demo") }).Should(
		And(ContainSubstring("state FAILED"), ContainSubstring("reason RECONFIGURE_FAILED"), ContainSubstring("VM 0 unconfigured"),
			MatchRegexp(`log of the infrastructure, its end\n(.*\n)* +[0-9-]+ [0-9:]+ fatal: FAILED! => out of cheese\n`)))
}
