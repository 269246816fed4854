package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

// inputs are what components and pull secrets are made of.
type inputs struct {
	of       types.UID
	spec     int64
	met      bool // the prerequisites of the components
	network  bool // its components are wanted
	keep     bool
	clusters string
}

// settled is the last look at components and pull secrets, if all was as it should be then.
type settled struct {
	inputs
	at time.Time
}

func (w *round) inputs() inputs {
	var clusters []string
	for _, c := range w.clusters {
		clusters = append(clusters, fmt.Sprintf("%s %t", c.Name, c.Client != nil))
	}
	return inputs{
		of: w.config.UID, spec: w.config.Generation, met: w.report.Components(),
		network: w.withNetwork(), keep: w.keep(), clusters: strings.Join(clusters, ","),
	}
}

// reconcileComponents and pull secrets, and say whether the components of the host cluster are ready. As long as no event tells of a change,
// they are looked at once in a while: a move has many steps, and each look takes dozens of calls.
func (w *round) reconcileComponents(ctx context.Context) (ready bool, err error) {
	now, changed := w.inputs(), w.Changed.Swap(false)
	fresh := !changed && w.settled.inputs == now && w.Clock.Since(w.settled.at) < w.Poll
	if fresh && (!now.met || w.allTrue(ofComponents)) {
		return now.met, nil
	}
	w.settled = settled{}
	at := w.Clock.Now()
	if now.met {
		secretsErr := w.pullSecrets(ctx)
		ready, err = w.deploy(ctx)
		err = errors.Join(secretsErr, err)
	} else {
		for _, kind := range ofComponents {
			w.pending(kind, "it waits for the prerequisites")
		}
		err = w.repair(ctx)
	}
	if err == nil && w.clustersErr == nil && (!now.met || w.allTrue(ofComponents)) {
		w.settled = settled{now, at}
	}
	return ready, err
}

var ofComponents = []string{
	operatorv1.ImagePullSecretsReconciledCondition, operatorv1.SystemComponentsReconciledCondition, operatorv1.SystemComponentsReadyCondition,
}

// allTrue says that these conditions are, for the spec as it is now.
func (w *round) allTrue(kinds []string) bool {
	return !slices.ContainsFunc(kinds, func(kind string) bool {
		c := w.find(kind)
		return c == nil || c.ObservedGeneration != w.config.Generation || !meta.IsStatusConditionTrue(w.config.Status.Conditions, kind)
	})
}

// repair what is deployed although a prerequisite is missing by now.
func (w *round) repair(ctx context.Context) error {
	host, dpus, network, err := w.render(ctx)
	if err != nil {
		return nil //nolint:nilerr // deploy tells it
	}
	if err = w.components(true).Repair(ctx, slices.Concat(host, dpus, network)); w.keep() { // also what an earlier release didn't have
		err = errors.Join(err, w.components(true).Ensure(ctx, network))
	}
	if err != nil {
		w.failed(operatorv1.SystemComponentsReconciledCondition, err)
	}
	return err
}
