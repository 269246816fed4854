package lab

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
)

// KrakeExample is the example whose cluster an infrastructure manager makes as a whole.
const KrakeExample = "krake"

// krakeMilestones are the Cluster's conditions that tell a user how far it is, in the order in which they come true.
var krakeMilestones = []struct{ step, condition string }{
	{"Cloud", krakev1.ScheduledCondition},
	{"Infrastructure", krakev1.InfrastructureReadyCondition},
	{"Kubeconfig", krakev1.KubeconfigReadyCondition},
	{"Cluster", krakev1.NodesHealthyCondition},
}

// startKrake starts the system krake, applies the example and waits until its cluster is ONLINE with all nodes.
func (r *run) startKrake(ctx, _ context.Context, stack *localstack.Stack) (*Lab, error) {
	krake, err := stack.StartKrake(ctx)
	if err != nil {
		return nil, err
	}
	variables := krake.Variables()
	variables["CLUSTER_NAME"], variables["NAMESPACE"] = exampleName, exampleNamespace
	variables["WORKER_MACHINE_COUNT"] = strconv.Itoa(r.options.Workers)
	yaml, err := examples.Render(r.options.Example, variables)
	if err != nil {
		return nil, err
	}
	if err := stack.Apply(ctx, yaml); err != nil {
		return nil, fmt.Errorf("example %s: %w", r.options.Example, err)
	}
	lab := r.lab(stack)
	lab.Simulator = krake.URL
	lab.Cluster = &Cluster{
		System: KrakeExample, Namespace: exampleNamespace, Name: exampleName,
		Kubeconfig: filepath.Join(r.options.Dir, exampleName+".kubeconfig"),
	}
	for _, m := range krakeMilestones {
		if err := r.wait(ctx, m.step, func(ctx context.Context) (string, error) {
			return unmetKrakeCondition(ctx, stack.Client(), lab.Cluster, m.condition)
		}); err != nil {
			return nil, err
		}
	}
	return lab, r.wait(ctx, "Nodes", func(ctx context.Context) (string, error) {
		return unseenKrakeNodes(ctx, stack.Client(), lab.Cluster, 1+r.options.Workers)
	})
}

// unseenKrakeNodes returns what the nodes wait for until they are ready, and the Cluster says so, or "".
func unseenKrakeNodes(ctx context.Context, c client.Client, at *Cluster, wanted int) (string, error) {
	if _, reason, err := workloadNodes(ctx, c, at, wanted); err != nil || reason != "" {
		return reason, err
	}
	cluster := &krakev1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name}, cluster); err != nil {
		return "", err
	}
	if seen := len(cluster.Status.Nodes); cluster.Status.State != krakev1.StateOnline || seen < wanted {
		return fmt.Sprintf("the Cluster is %s with %d of %d nodes", cluster.Status.State, seen, wanted), nil
	}
	return "", nil
}

// unmetKrakeCondition returns why the Cluster's condition isn't true, or "".
func unmetKrakeCondition(ctx context.Context, c client.Client, at *Cluster, condition string) (string, error) {
	cluster := &krakev1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name}, cluster); err != nil {
		return "", err
	}
	found := meta.FindStatusCondition(cluster.Status.Conditions, condition)
	switch {
	case found == nil:
		return "not reported yet", nil
	case found.Status == metav1.ConditionTrue:
		return "", nil
	}
	return cmp.Or(found.Message, found.Reason), nil
}
