package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
)

// install all components, without moving a network.
func (r *dpfRun) install(ctx context.Context) error {
	before, err := r.mark()
	if err != nil {
		return err
	}
	say("installing")
	profiled := r.profile(ctx, "install")
	if err := r.create(ctx, nil); err != nil {
		return err
	}
	if err := r.until(ctx, "everything is ready", condition(operatorv1.ReadyCondition)); err != nil {
		return err
	}
	after, err := r.mark()
	if err != nil {
		return err
	}
	f := &r.figures.Install
	f.ReadyAfter = after.operator.at.Sub(before.operator.at).Seconds()
	f.Operator, f.Services = after.operator.since(before.operator), after.services.since(before.services)
	deeds, err := r.clusters.deeds(before.operator.at)
	f.Writes = tally(deeds, deed.done)
	say("all ready after %.0f s; operator's %s; services' manager's %s", f.ReadyAfter, f.Operator, f.Services)
	if err != nil {
		return err
	}
	return <-profiled
}

// roll the network of all nodes onto their DPUs.
func (r *dpfRun) roll(ctx context.Context) error {
	before, err := r.mark()
	if err != nil {
		return err
	}
	nodes := r.figures.Nodes.WithDPUs
	say("moving %d nodes", nodes)
	if err := r.stretches(ctx, before.operator.at, nodes); err != nil {
		return err
	}
	killed, err := r.kill(ctx)
	if err != nil {
		return err
	}
	if err := r.until(ctx, "all nodes are on their DPUs", condition(operatorv1.ReadyCondition)); err != nil {
		return err
	}
	after, err := r.mark()
	if err != nil {
		return err
	}
	deeds, err := r.clusters.deeds(before.operator.at)
	if err != nil {
		return err
	}
	r.figures.Load, err = load()
	return errors.Join(err, r.judgeRoll(deeds, before, after, killed))
}

// stretches are from the first node on: some alone, then several at a time, until half of those are moved.
func (r *dpfRun) stretches(ctx context.Context, began time.Time, nodes int) error {
	f := &r.figures.Roll
	if err := r.edit(ctx, func(spec *operatorv1.DPFOperatorConfigSpec) { spec.HostNetworkConfiguration = network(nodes, 1) }); err != nil {
		return err
	}
	if err := r.until(ctx, "the first node is begun", func(config *operatorv1.DPFOperatorConfig) error {
		if in(config, operatorv1.NodePending) == len(config.Status.Nodes) {
			return fmt.Errorf("no node is: %+v", meta.FindStatusCondition(config.Status.Conditions, operatorv1.ReadyCondition))
		}
		return nil
	}); err != nil {
		return err
	}
	first := time.Now()
	f.BegunAfter = first.Sub(began).Seconds()
	say("the first node is begun after %.1f s", f.BegunAfter)
	if err := r.until(ctx, "some nodes are on their DPUs", reached(operatorv1.NodeReady, r.alone)); err != nil {
		return err
	}
	f.Alone = stretch{1, r.alone, time.Since(first).Seconds()}
	say("%d nodes, one at a time: %.1f s", f.Alone.Nodes, f.Alone.Seconds)
	if err := r.edit(ctx, func(spec *operatorv1.DPFOperatorConfigSpec) {
		spec.HostNetworkConfiguration.MaxUnavailable = int32(r.atATime)
	}); err != nil {
		return err
	}
	profiled := r.profile(ctx, "roll")
	f.Many.AtATime, f.Many.Nodes, first = r.atATime, (nodes-r.alone)/2, time.Now()
	err := r.until(ctx, "half of the nodes are on their DPUs", reached(operatorv1.NodeReady, r.alone+f.Many.Nodes))
	f.Many.Seconds = time.Since(first).Seconds()
	say("%d nodes, %d at a time: %.1f s", f.Many.Nodes, r.atATime, f.Many.Seconds)
	return errors.Join(err, <-profiled)
}

// kill the operator, and start the next one.
func (r *dpfRun) kill(ctx context.Context) (killed time.Time, err error) {
	if r.ended, err = usageOf(r.manager.process.PID()); err != nil {
		return killed, err
	}
	r.manager.process.Kill()
	killed = time.Now()
	say("the operator is killed")
	return killed, r.startOperator(ctx)
}

func (r *dpfRun) judgeRoll(deeds []deed, before, after mark, killed time.Time) error {
	f := &r.figures.Roll
	f.MovedAfter = after.operator.at.Sub(before.operator.at).Seconds()
	f.Writes = tally(deeds, deed.done)
	f.Refused = tally(deeds, func(d deed) bool { return !d.done() })
	f.Operator, f.Services = after.operator.since(before.operator), after.services.since(before.services)
	f.StatusBytes, _ = statusBytes(deeds)
	moved := map[string]bool{}
	for _, host := range network(r.figures.Nodes.WithDPUs, 1).Hosts {
		moved[string(host.HostClusterNodeName)] = true
	}
	for _, d := range deeds {
		if strings.HasPrefix(d.resource, "nodes") && !moved[d.name] {
			f.Others++
		}
	}
	next := slices.IndexFunc(deeds, func(d deed) bool { return d.done() && d.at.After(killed) })
	if next < 0 {
		return errors.New("the operator was killed after its last write: move more nodes")
	}
	r.figures.Crash.AtWorkAfter = deeds[next].at.Sub(killed).Seconds()
	moves, statuses := perNode(f.Writes, r.figures.Nodes.WithDPUs)
	say("all moved after %.0f s: %.2f writes and %.2f of the status for each, at work %.1f s after the kill; operator's %s",
		f.MovedAfter, moves, statuses, r.figures.Crash.AtWorkAfter, f.Operator)
	return nil
}

// rest is while nothing changes.
func (r *dpfRun) rest(ctx context.Context) error {
	if err := pause(ctx, 2*r.idling.poll); err != nil { // what is under way comes to an end
		return err
	}
	before, err := r.mark()
	if err != nil {
		return err
	}
	earlier, err := r.calls(ctx)
	if err != nil {
		return err
	}
	say("measuring at rest")
	profiled := r.profile(ctx, "rest")
	if err := pause(ctx, time.Duration(r.idling.intervals)*r.idling.poll); err != nil {
		return err
	}
	after, err := r.mark()
	if err != nil {
		return err
	}
	later, err := r.calls(ctx)
	if err != nil {
		return err
	}
	deeds, err := r.clusters.deeds(before.operator.at)
	if err != nil {
		return err
	}
	f := &r.figures.Idle
	f.Window, f.Poll = after.operator.at.Sub(before.operator.at).Seconds(), r.idling.poll.Seconds()
	f.Writes = tally(deeds, func(deed) bool { return true })
	f.Calls = per(since(earlier, later), f.Window/60)
	f.Operator, f.Services = after.operator.since(before.operator), after.services.since(before.services)
	say("at rest %d writes, %.0f calls per minute; operator's %s; services' manager's %s", sum(f.Writes), sum(f.Calls), f.Operator, f.Services)
	return <-profiled
}

// calls of the operator's, by whose API server they are of.
func (r *dpfRun) calls(ctx context.Context) (map[string]float64, error) {
	metrics, err := r.manager.scrape(ctx)
	calls := map[string]float64{}
	for host, n := range metrics.by("rest_client_requests_total", "host") {
		if host == strings.TrimPrefix(r.config.Host, "https://") {
			calls[ownCluster] += n
		} else {
			calls[dpuClusters] += n
		}
	}
	return calls, err
}

// back deletes everything, and compares with what was there before.
func (r *dpfRun) back(ctx context.Context) error {
	before, err := r.mark()
	if err != nil {
		return err
	}
	say("deleting it")
	if err := r.rig.client.Delete(ctx, theConfig()); err != nil {
		return err
	}
	if err := r.gone(ctx); err != nil {
		return err
	}
	after, err := r.mark()
	if err != nil {
		return err
	}
	deeds, err := r.clusters.deeds(before.operator.at)
	if err != nil {
		return err
	}
	f := &r.figures.Back
	f.GoneAfter, f.Operator = after.operator.at.Sub(before.operator.at).Seconds(), after.operator.since(before.operator)
	f.Writes = tally(deeds, deed.done)
	var state platform.State
	if err := r.rig.until(ctx, "all is as it was before", time.Minute, func(ctx context.Context) error { // Pods and what owners leave go later
		err := r.site.Ask(ctx, http.MethodGet, "state", nil, &state)
		if err == nil && len(state.Changed) > 0 {
			err = fmt.Errorf("%d objects aren't, such as %s", len(state.Changed), state.Changed[0])
		}
		return err
	}); err != nil {
		say("%v", err)
	}
	f.Changed = state.Changed
	say("all gone after %.0f s: %d writes, %d objects aren't as before", f.GoneAfter, sum(f.Writes), len(f.Changed))
	return nil
}

// gone waits until it is.
func (r *dpfRun) gone(ctx context.Context) error {
	return r.rig.until(ctx, "it is gone", r.patience, func(ctx context.Context) error {
		if err := r.clusters.follow(ctx); err != nil {
			return err
		}
		config := theConfig()
		if err := r.rig.client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return client.IgnoreNotFound(err)
		}
		return fmt.Errorf("%+v", config.Status.Conditions)
	})
}

// large begins all hosts of a configuration at once. Nothing runs on them, so that they stay Provisioning.
func (r *dpfRun) large(ctx context.Context) error {
	before, err := r.mark()
	if err != nil {
		return err
	}
	f := r.figures.Large
	say("a configuration with %d hosts", f.Hosts)
	profiled := r.profile(ctx, "large")
	if err := r.create(ctx, network(f.Hosts, f.Hosts)); err != nil {
		return err
	}
	if err := r.rig.until(ctx, "all hosts are begun", r.patience, func(ctx context.Context) error {
		config := theConfig()
		if err := r.rig.client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		return reached(operatorv1.NodeProvisioning, f.Hosts)(config)
	}); err != nil {
		return err
	}
	after, err := r.mark()
	if err != nil {
		return err
	}
	deeds, err := r.clusters.deeds(before.operator.at)
	if err != nil {
		return err
	}
	f.BegunAfter, f.Operator = after.operator.at.Sub(before.operator.at).Seconds(), after.operator.since(before.operator)
	f.Writes = tally(deeds, deed.done)
	f.StatusBytes, f.Status = statusBytes(deeds)
	var shards corev1.ConfigMapList
	if err := r.rig.client.List(ctx, &shards, client.HasLabels{journal.Label}); err != nil {
		return err
	}
	for _, m := range shards.Items {
		f.Shard, f.Journal = max(f.Shard, m.Size()), f.Journal+m.Size()
	}
	say("all begun after %.0f s; the largest shard has %d KiB, the largest write of the status %d; operator's %s",
		f.BegunAfter, f.Shard>>10, f.Status>>10, f.Operator)
	return <-profiled
}
