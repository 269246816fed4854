package e2e

import (
	"context"
	"fmt"
	"path"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capi "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/simulator"
)

const moved = "move"

// move takes a cluster to a second management cluster. Cluster API's own spec for this moves a cluster into itself, which
// needs a workload cluster that runs pods.
func move(ctx context.Context, e *environment) {
	var target framework.ClusterProxy
	var namespace *corev1.Namespace
	var stopWatching context.CancelFunc
	result := &clusterctl.ApplyClusterTemplateAndWaitResult{}

	BeforeEach(func() {
		namespace, stopWatching = framework.SetupSpecNamespace(ctx, moved, e.management, e.dir, nil)
		e.targets++
		name := fmt.Sprintf("target-%d", e.targets)
		stack, err := e.startStack(ctx, name)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stack.Stop)
		Expect(e.outside.startManager(ctx, stack)).To(Succeed())
		target = e.proxy(name, stack)
		e.registerProviders(ctx, target)
	})

	It("Should keep everything outside as it is, and go on from there", func() {
		e.createCluster(ctx, namespace.Name, result)
		cluster := result.Cluster
		available(ctx, e.management, cluster)
		before, nodes, writes := e.knownIn(ctx, e.management, cluster), nodesOf(ctx, e.management, cluster), e.writes()

		clusterctl.Move(ctx, clusterctl.MoveInput{
			LogFolder: e.dir, ClusterctlConfigPath: e.clusterctl, Namespace: cluster.Namespace,
			FromKubeconfigPath: e.management.GetKubeconfigPath(), ToKubeconfigPath: target.GetKubeconfigPath(),
		})
		By("Checking that the cluster is what it was, and that the source has nothing of it")
		available(ctx, target, cluster)
		Expect(e.knownIn(ctx, target, cluster)).To(Equal(before))
		Expect(nodesOf(ctx, target, cluster)).To(Equal(nodes))
		Consistently(e.writes, "10s", "1s").Should(Equal(writes), "outside nothing is made, changed or deleted")
		Expect(e.objects(ctx, e.management, cluster.Namespace)).To(BeEmpty())

		framework.ScaleAndWaitMachineDeployment(ctx, framework.ScaleAndWaitMachineDeploymentInput{
			ClusterProxy: target, Cluster: cluster, MachineDeployment: result.MachineDeployments[0], Replicas: 2,
			WaitForMachineDeployments: e.config.GetIntervals(moved, "wait-worker-nodes"),
		})
	})

	It("Should neither double nor lose machines that are being made, there and back", func() {
		e.createCluster(ctx, namespace.Name, result)
		source, destination := e.management, target
		for replicas := int32(4); replicas <= 7; replicas += 3 {
			pending := e.createsWithoutAnswer(ctx, source, result, replicas)
			clusterctl.Move(ctx, clusterctl.MoveInput{
				LogFolder: e.dir, ClusterctlConfigPath: e.clusterctl, Namespace: namespace.Name,
				FromKubeconfigPath: source.GetKubeconfigPath(), ToKubeconfigPath: destination.GetKubeconfigPath(),
			})
			e.heal(ctx)
			framework.ScaleAndWaitMachineDeployment(ctx, framework.ScaleAndWaitMachineDeploymentInput{
				ClusterProxy: destination, Cluster: result.Cluster, MachineDeployment: result.MachineDeployments[0], Replicas: replicas,
				WaitForMachineDeployments: e.config.GetIntervals(moved, "wait-worker-nodes"),
			})
			By("Checking that there is one instance for each machine, and one ledger, where the cluster is")
			known := e.knownIn(ctx, destination, result.Cluster).machines
			Expect(known).To(HaveLen(1 + int(replicas)))
			for _, name := range pending {
				Expect(known).To(HaveKeyWithValue(name, Not(BeEmpty())))
			}
			var machines []string
			for _, id := range known {
				machines = append(machines, path.Base(id))
			}
			Expect(e.look().machines).To(ConsistOf(machines))
			Expect(ledgersIn(ctx, destination, namespace.Name)).To(HaveLen(len(e.objects(ctx, destination, namespace.Name))))
			Expect(ledgersIn(ctx, source, namespace.Name)).To(BeEmpty())
			source, destination = destination, source
		}
	})

	AfterEach(func() {
		for _, management := range []framework.ClusterProxy{target, e.management} {
			if management != nil {
				framework.DumpSpecResourcesAndCleanup(ctx, moved, management, e.clusterctl, e.dir, namespace, stopWatching,
					result.Cluster, e.config.GetIntervals, false)
			}
		}
	})
}

// createCluster makes a cluster that has its namespace's name, with one worker, and waits for it.
func (e *environment) createCluster(ctx context.Context, name string, result *clusterctl.ApplyClusterTemplateAndWaitResult) {
	clusterctl.ApplyClusterTemplateAndWait(ctx, clusterctl.ApplyClusterTemplateAndWaitInput{
		ClusterProxy: e.management,
		ConfigCluster: clusterctl.ConfigClusterInput{
			LogFolder: e.dir, ClusterctlConfigPath: e.clusterctlConfig(ctx), KubeconfigPath: e.management.GetKubeconfigPath(),
			InfrastructureProvider: clusterctl.DefaultInfrastructureProvider, Flavor: clusterctl.DefaultFlavor,
			Namespace: name, ClusterName: name, KubernetesVersion: e.config.MustGetVariable(capi.KubernetesVersion),
			ControlPlaneMachineCount: ptr.To[int64](1), WorkerMachineCount: ptr.To[int64](1),
		},
		WaitForClusterIntervals:      e.config.GetIntervals(moved, "wait-cluster"),
		WaitForControlPlaneIntervals: e.config.GetIntervals(moved, "wait-control-plane"),
		WaitForMachineDeployments:    e.config.GetIntervals(moved, "wait-worker-nodes"),
	}, result)
}

// createsWithoutAnswer asks for machines at a service that doesn't answer: of some of their creates nothing comes, and others are done
// after the client has gone. It returns the names of those whose ledger says that a create is on its way. clusterctl moves no cluster
// whose machines have no nodes; so they are said to have some. With a node goes a ledger: clusterctl lists objects once, before it
// pauses the cluster, and never moves a ledger that is created in between.
func (e *environment) createsWithoutAnswer(
	ctx context.Context, management framework.ClusterProxy, made *clusterctl.ApplyClusterTemplateAndWaitResult, replicas int32,
) (pending []string) {
	for _, fault := range []simulator.Fault{
		{Kind: simulator.FaultCommitLate, Hold: minutes(1), Delay: minutes(3)},
		{Kind: simulator.FaultLoseAnswer},
		{Kind: simulator.FaultHang, Times: -1},
	} {
		fault.Operation = e.createMachine
		e.fault(ctx, fault)
	}
	c, deployment := management.GetClient(), made.MachineDeployments[0]
	Expect(c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
	scaled := deployment.DeepCopy()
	scaled.Spec.Replicas = &replicas
	Expect(c.Patch(ctx, scaled, client.MergeFrom(deployment))).To(Succeed())
	machines := &clusterv1.MachineList{}
	Eventually(func(g Gomega) {
		pending = nil
		ledgers := ledgersIn(ctx, management, deployment.Namespace)
		for _, ledger := range ledgers {
			if ledger.Status.Pending > 0 {
				pending = append(pending, ledger.Spec.Owner.Name)
			}
		}
		g.Expect(pending).NotTo(BeEmpty())
		g.Expect(c.List(ctx, machines, client.InNamespace(deployment.Namespace))).To(Succeed())
		g.Expect(machines.Items).To(HaveLen(1 + int(replicas)))
		g.Expect(ledgers).To(HaveLen(len(e.objects(ctx, management, deployment.Namespace))))
	}, e.config.GetIntervals(moved, "wait-worker-nodes")...).Should(Succeed())
	for i := range machines.Items {
		machine := &machines.Items[i]
		if machine.Status.NodeRef.IsDefined() {
			continue
		}
		before := machine.DeepCopy()
		machine.Status.NodeRef.Name = machine.Name
		Expect(c.Status().Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
	}
	return pending
}

func minutes(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Minute} }

func ledgersIn(ctx context.Context, management framework.ClusterProxy, namespace string) []ledgerv1.Ledger {
	ledgers := &ledgerv1.LedgerList{}
	Expect(management.GetClient().List(ctx, ledgers, client.InNamespace(namespace))).To(Succeed())
	return ledgers.Items
}

// available waits until a cluster and its machines are as they should be.
func available(ctx context.Context, management framework.ClusterProxy, cluster *clusterv1.Cluster) {
	framework.VerifyClusterAvailable(ctx, framework.VerifyClusterAvailableInput{
		Getter: management.GetClient(), Name: cluster.Name, Namespace: cluster.Namespace,
	})
	framework.VerifyMachinesReady(ctx, framework.VerifyMachinesReadyInput{
		Lister: management.GetClient(), Name: cluster.Name, Namespace: cluster.Namespace,
	})
}

// known is what a cluster's objects know of what was made for it.
type known struct {
	status   map[string]any               // the cluster's, without its conditions
	machines map[string]string            // provider IDs by name
	ledgers  map[string]map[string]string // IDs by key, by name
}

func (e *environment) knownIn(ctx context.Context, management framework.ClusterProxy, cluster *clusterv1.Cluster) known {
	k := known{machines: map[string]string{}, ledgers: map[string]map[string]string{}}
	for _, object := range e.objects(ctx, management, cluster.Namespace) {
		switch object.GetKind() {
		case e.clusterKind:
			k.status, _, _ = unstructured.NestedMap(object.Object, "status")
			delete(k.status, "conditions")
		case e.machineKind:
			k.machines[object.GetName()], _, _ = unstructured.NestedString(object.Object, "spec", "providerID")
		}
	}
	for _, ledger := range ledgersIn(ctx, management, cluster.Namespace) {
		ids := map[string]string{}
		for _, entry := range ledger.Spec.Entries {
			ids[entry.Key] = entry.ID
		}
		k.ledgers[ledger.Name] = ids
	}
	return k
}

// objects are those that something is made for outside: each has a ledger.
func (e *environment) objects(ctx context.Context, management framework.ClusterProxy, namespace string) (all []unstructured.Unstructured) {
	for _, kind := range []string{e.clusterKind, e.machineKind, e.imageKind} {
		if kind == "" {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(e.version.WithKind(kind + "List"))
		Expect(management.GetClient().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		all = append(all, list.Items...)
	}
	return all
}

// nodesOf returns the UIDs of a cluster's nodes by name: they change when its control plane or a machine is created
// again.
func nodesOf(ctx context.Context, management framework.ClusterProxy, cluster *clusterv1.Cluster) map[string]types.UID {
	nodes := &corev1.NodeList{}
	workload := management.GetWorkloadCluster(ctx, cluster.Namespace, cluster.Name)
	Expect(workload.GetClient().List(ctx, nodes)).To(Succeed())
	uids := map[string]types.UID{}
	for _, node := range nodes.Items {
		uids[node.Name] = node.UID
	}
	return uids
}
