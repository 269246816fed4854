package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cloudproviderapi "k8s.io/cloud-provider/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
)

const (
	exampleNamespace = "default"
	exampleName      = "demo"
	waitPoll         = 500 * time.Millisecond
	requestTimeout   = 10 * time.Second
)

// milestones are the Cluster's conditions that tell a user how far it is, in the order in which they come true.
var milestones = []struct{ step, condition string }{
	{"Infrastructure", clusterv1.ClusterInfrastructureReadyCondition},
	{"Control plane", clusterv1.ClusterControlPlaneAvailableCondition},
	{"Workers", clusterv1.ClusterWorkersAvailableCondition},
	{"Cluster", clusterv1.ClusterAvailableCondition},
}

// other is a lab of an example that isn't bmm's with machines of Cluster API.
type other struct {
	tools func() []string
	// plain: the management cluster has no Cluster API.
	plain bool
	// workloads: the management cluster has nodes, and Pods run on them.
	workloads bool
	// start ends with the first context; what continues afterwards ends with the second one.
	start func(*run, context.Context, context.Context, *localstack.Stack) (*Lab, error)
}

// others by the names of their examples.
var others = map[string]other{
	DPFExample:         {tools: localstack.DPFTools, plain: true, workloads: true, start: (*run).startDPF},
	KrakeExample:       {tools: localstack.KrakeTools, plain: true, start: (*run).startKrake},
	"powervs":          {tools: localstack.PowerVSTools, start: (*run).startPowerVS},
	"powervs-class":    {tools: localstack.PowerVSTools, start: (*run).startPowerVS},
	"powervs-ignition": {tools: localstack.PowerVSTools, start: (*run).startPowerVS},
	MachinesExample:    {tools: localstack.OpenShiftTools, plain: true, start: (*run).startMachines},
	OverlayExample:     {tools: localstack.HydrazineTools, plain: true, start: (*run).startOverlay},
}

// applyExample applies an example of a cluster.
func (r *run) applyExample(ctx context.Context, stack *localstack.Stack, system map[string]string) error {
	version, err := kubernetesVersion(stack.AdminConfig())
	if err != nil {
		return err
	}
	variables := map[string]string{
		"CLUSTER_NAME":                exampleName,
		"NAMESPACE":                   exampleNamespace,
		"KUBERNETES_VERSION":          version,
		"CONTROL_PLANE_MACHINE_COUNT": strconv.Itoa(r.options.ControlPlanes),
		"WORKER_MACHINE_COUNT":        strconv.Itoa(r.options.Workers),
	}
	maps.Copy(variables, system)
	yaml, err := examples.Render(r.options.Example, variables)
	if err != nil {
		return err
	}
	if err := stack.Apply(ctx, yaml); err != nil {
		return fmt.Errorf("example %s: %w", r.options.Example, err)
	}
	return nil
}

// createExample applies an example and waits until its cluster is available and all nodes are ready.
func (r *run) createExample(ctx context.Context, stack *localstack.Stack, system map[string]string) (*Cluster, error) {
	if err := r.applyExample(ctx, stack, system); err != nil {
		return nil, err
	}
	c := stack.Client()
	cluster := &Cluster{
		Namespace: exampleNamespace, Name: exampleName,
		Kubeconfig: filepath.Join(r.options.Dir, exampleName+".kubeconfig"),
	}
	for _, m := range milestones {
		if err := r.wait(ctx, m.step, func(ctx context.Context) (string, error) {
			return unmetCondition(ctx, c, cluster, m.condition)
		}); err != nil {
			return nil, err
		}
	}
	return cluster, r.wait(ctx, "Nodes", func(ctx context.Context) (string, error) {
		return unreadyNodes(ctx, c, cluster, r.options.ControlPlanes+r.options.Workers)
	})
}

// kubernetesVersion asks the management cluster: machines run the same programs.
func kubernetesVersion(config *rest.Config) (string, error) {
	config.Timeout = requestTimeout
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("ask for the Kubernetes version: %w", err)
	}
	version, err := c.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("ask for the Kubernetes version: %w", err)
	}
	return version.GitVersion, nil
}

// wait calls check until it returns neither a reason for waiting nor an error, and reports what it waits for. Errors are
// reasons for waiting too: the cluster is only just coming up.
func (r *run) wait(ctx context.Context, step string, check func(context.Context) (string, error)) error {
	r.emit(Event{Step: step, State: Started})
	ticker := time.NewTicker(waitPoll)
	defer ticker.Stop()
	for last := ""; ; {
		reason, err := check(ctx)
		if err != nil {
			reason = err.Error()
		}
		if reason == "" {
			r.emit(Event{Step: step, State: Done})
			return nil
		}
		if failure := bootFailure(r.options.Dir); failure != "" {
			r.emit(Event{Step: step, State: Failed, Message: failure})
			return fmt.Errorf("%s: %s", step, failure)
		}
		if reason != last && ctx.Err() == nil {
			last = reason
			r.emit(Event{Step: step, State: Waiting, Message: reason})
		}
		select {
		case <-ctx.Done():
			r.emit(Event{Step: step, State: Failed, Message: last})
			return fmt.Errorf("%w: %s: %s", context.Cause(ctx), step, last)
		case <-ticker.C:
		}
	}
}

// unmetCondition returns why the Cluster's condition isn't true, or "".
func unmetCondition(ctx context.Context, c client.Client, at *Cluster, condition string) (string, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name}, cluster); err != nil {
		return "", err
	}
	found := meta.FindStatusCondition(cluster.Status.Conditions, condition)
	switch {
	case found != nil && found.Status == metav1.ConditionTrue:
		return "", nil
	case condition != clusterv1.ClusterInfrastructureReadyCondition:
		if reason, err := unreadyMachine(ctx, c, at); err != nil || reason != "" {
			return reason, err
		}
	}
	if found == nil {
		return "not reported yet", nil
	}
	return cmp.Or(found.Message, found.Reason), nil
}

// unreadyMachine returns what the first machine waits for that isn't a Node yet, or "".
func unreadyMachine(ctx context.Context, c client.Client, at *Cluster) (string, error) {
	machines := &clusterv1.MachineList{}
	if err := c.List(ctx, machines, client.InNamespace(at.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: at.Name}); err != nil {
		return "", err
	}
	slices.SortFunc(machines.Items, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	for _, machine := range machines.Items {
		for _, step := range []string{
			clusterv1.MachineBootstrapConfigReadyCondition, clusterv1.MachineInfrastructureReadyCondition,
			clusterv1.MachineNodeHealthyCondition, clusterv1.MachineReadyCondition,
		} {
			found := meta.FindStatusCondition(machine.Status.Conditions, step)
			if found != nil && found.Status != metav1.ConditionTrue && found.Message != "" {
				return machine.Name + ": " + found.Message, nil
			}
		}
	}
	return "", nil
}

// unreadyNodes returns what the nodes of Cluster API's machines wait for, or "".
func unreadyNodes(ctx context.Context, c client.Client, at *Cluster, wanted int) (string, error) {
	nodes, reason, err := workloadNodes(ctx, c, at, wanted)
	if err != nil || reason != "" {
		return reason, err
	}
	for _, node := range nodes {
		if node.Spec.ProviderID == "" || slices.ContainsFunc(node.Spec.Taints, isUninitialized) {
			return node.Name + " waits for the cloud controller manager", nil
		}
	}
	return unreadyMachine(ctx, c, at) // Cluster API hears of it a moment later
}

// workloadNodes asks the new cluster itself, with the kubeconfig in its Secret, and keeps that for the user. The reason is why not as many
// are ready as are wanted.
func workloadNodes(ctx context.Context, c client.Client, at *Cluster, wanted int) (_ []corev1.Node, reason string, _ error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name + "-kubeconfig"}, secret); err != nil {
		return nil, "", err
	}
	kubeconfig := secret.Data["value"]
	if err := os.WriteFile(at.Kubeconfig, kubeconfig, 0o600); err != nil {
		return nil, "", fmt.Errorf("keep the cluster's kubeconfig: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	config.Timeout = requestTimeout
	workload, err := client.New(config, client.Options{})
	if err != nil {
		return nil, "", err
	}
	nodes := &corev1.NodeList{}
	if err := workload.List(ctx, nodes); err != nil {
		return nil, "", err
	}
	if ready := countReady(nodes.Items); ready < wanted {
		return nil, fmt.Sprintf("%d of %d are ready", ready, wanted), nil
	}
	return nodes.Items, "", nil
}

func isUninitialized(taint corev1.Taint) bool {
	return taint.Key == cloudproviderapi.TaintExternalCloudProvider
}

func countReady(nodes []corev1.Node) int {
	ready := 0
	for _, node := range nodes {
		if util.IsNodeReady(&node) {
			ready++
		}
	}
	return ready
}
