package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/krake/im"
	krake "github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// The main job: a Cluster is made on the better one of two clouds, is reached by its kubeconfig, gets a change, and leaves nothing.
func TestLab_bringsUpAKrakeClusterAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	up := startLab(t, g, "krake")
	management := clientOfFile(t, g, up.Kubeconfig)
	cluster := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: up.Cluster.Namespace, Name: up.Cluster.Name}}
	g.Expect(management.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Status).To(And(HaveField("State", krakev1.StateOnline), HaveField("RunningOn.Name", "berlin")))
	g.Expect(infrastructures(g, up)).To(ConsistOf(HaveField("Cloud", "OpenStack https://keystone.berlin.example.com:5000 clusters default")))

	nodes := func() (ready []string) {
		list := &corev1.NodeList{}
		if err := clientOfFile(t, g, up.Cluster.Kubeconfig).List(t.Context(), list); err != nil {
			return []string{err.Error()}
		}
		for i := range list.Items {
			if util.IsNodeReady(&list.Items[i]) {
				ready = append(ready, list.Items[i].Name)
			}
		}
		return ready
	}
	g.Expect(nodes()).To(ConsistOf("front-0", "wn-1", "wn-2"))
	resize(g, management, cluster, 2, 3)
	g.Eventually(nodes).Should(ConsistOf("front-0", "wn-1", "wn-2", "wn-3"))

	up.untilReconfigured(management, cluster)
	up.expectNoPassword()
	g.Expect(management.Delete(t.Context(), cluster)).To(Succeed())
	untilGone(g, management, cluster)
	g.Eventually(func() krake.State { return infrastructures(g, up) }).Should(BeEmpty())
	up.down()
}

// resize a cluster. Its manager writes its status meanwhile.
func resize(g *WithT, c client.Client, cluster *krakev1.Cluster, from, to int) {
	before := cluster.DeepCopy()
	cluster.Spec.TOSCA = strings.Replace(cluster.Spec.TOSCA, fmt.Sprint("default: ", from), fmt.Sprint("default: ", to), 1)
	g.Expect(c.Patch(context.Background(), cluster, client.MergeFrom(before))).To(Succeed())
}

// untilReconfigured lets the machines lose their configuration, and expects that they get it again.
func (c command) untilReconfigured(management client.Client, cluster *krakev1.Cluster) {
	c.t.Helper()
	remoteAt(c.Simulator).post(c.g, "status", krake.Status{ID: infrastructures(c.g, c)[0].ID, State: im.Unconfigured})
	c.g.Eventually(func() int { return remoteAt(c.Simulator).calls(c.g)["reconfigureInfrastructure"] }).Should(Equal(1))
	c.g.Eventually(func() krakev1.ClusterState {
		c.g.Expect(management.Get(c.t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		return cluster.Status.State
	}).Should(Equal(krakev1.StateOnline))
}

// expectNoPassword in the manager's log.
func (c command) expectNoPassword() {
	c.t.Helper()
	var world struct{ Users map[string]string }
	data, err := os.ReadFile(filepath.Join(c.dir, "simulators", "im.json"))
	c.g.Expect(err).NotTo(HaveOccurred())
	c.g.Expect(json.Unmarshal(data, &world)).To(Succeed())
	log, err := os.ReadFile(filepath.Join(c.dir, "logs", localstack.KrakeManager+".log"))
	c.g.Expect(err).NotTo(HaveOccurred())
	c.g.Expect(string(log)).To(And(ContainSubstring("Starting workers"), Not(ContainSubstring(world.Users["krake"]))))
}

// infrastructures that the manager has.
func infrastructures(g Gomega, c command) (all krake.State) {
	g.Expect(remoteAt(c.Simulator).Ask(context.Background(), http.MethodGet, "state", nil, &all)).To(Succeed())
	return all
}

// kill -9 of the real manager, at its worst moments: while an infrastructure is made, changed and deleted.
func TestKrakeManager_killedAtAnyMomentLeaksAndDoublesNothing(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	s := stack{t: t, dir: t.TempDir()}
	var err error
	s.Stack, err = localstack.StartKubernetes(bounded(t), localstack.Config{
		Dir: s.dir, Tools: toolstest.Find(t, append(localstack.KrakeTools(), "bedplate")...),
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Stop)
	k, err := s.StartKrake(bounded(t))
	g.Expect(err).NotTo(HaveOccurred())
	s.sim, s.client = remoteAt(k.URL), clientOf(t, g, s.AdminConfig())
	for _, operation := range []string{"createInfrastructure", "updateInfrastructure", "deleteInfrastructure"} {
		s.sim.fault(g, simulator.Fault{Operation: operation, Kind: simulator.FaultCommitLate, Delay: metav1.Duration{Duration: time.Minute}})
	}
	variables := k.Variables()
	variables["CLUSTER_NAME"], variables["NAMESPACE"], variables["WORKER_MACHINE_COUNT"] = "demo", "default", "1"
	yaml, err := examples.Render("krake", variables)
	g.Expect(err).NotTo(HaveOccurred())
	s.killAt(g, localstack.KrakeManager, func() { g.Expect(s.Apply(bounded(t), yaml)).To(Succeed()) }, "createInfrastructure")
	cluster := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	online := func() {
		t.Helper()
		g.Eventually(func(g Gomega) {
			g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
			g.Expect(cluster.Status).To(And(HaveField("State", krakev1.StateOnline), HaveField("LastAppliedTOSCA", cluster.Spec.TOSCA)))
		}).Should(Succeed())
		var all krake.State
		g.Expect(s.sim.Ask(t.Context(), http.MethodGet, "state", nil, &all)).To(Succeed())
		g.Expect(all).To(ConsistOf(HaveField("ID", cluster.Status.ClusterID)))
	}
	online()
	s.killAt(g, localstack.KrakeManager, func() { resize(g, s.client, cluster, 1, 2) }, "updateInfrastructure")
	online()
	s.killAt(g, localstack.KrakeManager, func() { g.Expect(s.client.Delete(t.Context(), cluster)).To(Succeed()) }, "deleteInfrastructure")
	untilGone(g, s.client, cluster)
	g.Eventually(func(g Gomega) {
		var all krake.State
		g.Expect(s.sim.Ask(t.Context(), http.MethodGet, "state", nil, &all)).To(Succeed())
		g.Expect(all).To(BeEmpty())
	}).Should(Succeed())
}
