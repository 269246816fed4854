package lab

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
)

// DPFExample is the example whose management cluster is one of OpenShift's, with workers that have DPUs.
const DPFExample = "dpf"

// nodeTimeout is the shortest that there is: the lab shows a node that fails after it.
const nodeTimeout = "1m"

// dpfMilestones are the DPFOperatorConfig's conditions that tell a user how far it is, in the order in which they come true.
var dpfMilestones = []struct{ step, condition string }{
	{"Prerequisites", operatorv1.PrerequisitesMetCondition},
	{"Components", operatorv1.SystemComponentsReadyCondition},
	{"Nodes' networks", operatorv1.HostNetworkConfiguredCondition},
	{"Ready", operatorv1.ReadyCondition},
}

// startDPF starts the system dpf, applies the example and waits until the networks of all workers with DPUs are on these.
func (r *run) startDPF(ctx, _ context.Context, stack *localstack.Stack) (*Lab, error) {
	dpf, err := stack.StartDPF(ctx)
	if err != nil {
		return nil, err
	}
	yaml, err := examples.Render(r.options.Example, map[string]string{"NODE_TIMEOUT": nodeTimeout})
	if err != nil {
		return nil, err
	}
	if err := stack.Apply(ctx, yaml); err != nil {
		return nil, fmt.Errorf("example %s: %w", r.options.Example, err)
	}
	for _, m := range dpfMilestones {
		if err := r.wait(ctx, m.step, func(ctx context.Context) (string, error) {
			return unmetDPFCondition(ctx, stack.Client(), m.condition)
		}); err != nil {
			return nil, err
		}
	}
	lab := r.lab(stack)
	lab.Simulator, lab.DPUKubeconfig = dpf.URL, dpf.DPUKubeconfig
	return lab, nil
}

// unmetDPFCondition returns why the DPFOperatorConfig's condition isn't true, or "". Of the network it is the phases of the nodes.
func unmetDPFCondition(ctx context.Context, c client.Client, condition string) (string, error) {
	config := &operatorv1.DPFOperatorConfig{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: operatorv1.Namespace, Name: operatorv1.Name}, config); err != nil {
		return "", err
	}
	found := meta.FindStatusCondition(config.Status.Conditions, condition)
	switch {
	case found == nil:
		return "not reported yet", nil
	case found.Status == metav1.ConditionTrue && found.ObservedGeneration == config.Generation:
		return "", nil
	case condition == operatorv1.HostNetworkConfiguredCondition && len(config.Status.Nodes) > 0:
		return phases(config.Status.Nodes), nil
	}
	return cmp.Or(found.Message, found.Reason), nil
}

func phases(nodes []operatorv1.NodeStatus) string {
	var all []string
	for _, n := range nodes {
		all = append(all, fmt.Sprintf("%s %s", n.Name, n.Phase))
	}
	return strings.Join(all, ", ")
}
