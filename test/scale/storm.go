package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// trouble is something that happens in a storm.
type trouble struct {
	name   string
	weight int
	do     func(context.Context) error
}

func (s *soak) troubles(kills bool) []trouble {
	all := []trouble{
		{"a machine comes", 6, func(ctx context.Context) error { return s.addMachine(ctx, s.anyCluster()) }},
		{"a machine goes", 6, s.dropMachine},
		{"a cluster comes", 1, s.addCluster},
		{"a cluster goes", 1, s.dropCluster},
		{"an instance vanishes", 1, s.loseInstance},
		{"the site refuses everything", 1, s.siteRefuses},
		{"the site hangs", 1, func(ctx context.Context) error { return s.hang(ctx, s.site.process.PID(), 10*time.Second) }},
		{"the site's agent is down", 1, s.agentDown},
		{"the API server hangs", 1, func(ctx context.Context) error { return s.hang(ctx, s.apiserver(), 20*time.Second) }},
	}
	if kills {
		all = append(all, trouble{"the manager is killed", 3, s.killManager})
	}
	return all
}

// tempest makes random changes, while a share of all outside calls fails.
func (s *soak) tempest(ctx context.Context, kills bool) error {
	chaos := simulator.Chaos{Seed: s.random.Uint64(), Rate: 0.05 + 0.25*s.random.Float64()}
	if err := s.site.Ask(ctx, http.MethodPost, "chaos", chaos, nil); err != nil {
		return err
	}
	happened := map[string]int{}
	all := s.troubles(kills)
	for end := time.Now().Add(s.storm); time.Now().Before(end); {
		if err := s.alive(); err != nil {
			return err
		}
		next := s.choose(all)
		if err := next.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", next.name, err)
		}
		happened[next.name]++
		if err := pause(ctx, time.Duration(s.random.Int64N(int64(time.Second)))); err != nil {
			return err
		}
	}
	say("storm: %.0f %% of all calls went wrong; %s", 100*chaos.Rate, listed(happened, "%d"))
	return nil
}

func (s *soak) choose(all []trouble) trouble {
	total := 0
	for _, t := range all {
		total += t.weight
	}
	n := s.random.IntN(total)
	for _, t := range all {
		if n -= t.weight; n < 0 {
			return t
		}
	}
	panic("the weights don't add up")
}

// heal ends all trouble outside.
func (s *soak) heal(ctx context.Context) error {
	for _, what := range []string{"chaos", "faults"} {
		if err := s.site.Ask(ctx, http.MethodDelete, what, nil, nil); err != nil {
			return err
		}
	}
	return s.siteState(ctx, sim.SiteOnline)
}

// names of the clusters, sorted: what happens must follow from the seed, as far as it can.
func (s *soak) names() []string { return slices.Sorted(maps.Keys(s.wanted)) }

func (s *soak) anyCluster() string {
	names := s.names()
	return names[s.random.IntN(len(names))]
}

// name is always a new one: so state that is kept per name would grow.
func (s *soak) name(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%d", prefix, s.serial)
}

func (s *soak) addCluster(ctx context.Context) error {
	name := s.name("c")
	s.wanted[name] = nil
	if err := s.login(ctx, name, s.site.URL); err != nil {
		return err
	}
	return s.createCluster(ctx, name, name)
}

func (s *soak) dropCluster(ctx context.Context) error {
	if len(s.wanted) == 1 {
		return nil
	}
	return s.removeCluster(ctx, s.anyCluster())
}

func (s *soak) removeCluster(ctx context.Context, name string) error {
	for _, m := range slices.Clone(s.wanted[name]) {
		if err := s.removeMachine(ctx, name, m); err != nil {
			return err
		}
	}
	delete(s.wanted, name)
	return s.forgetCluster(ctx, name)
}

func (s *soak) addMachine(ctx context.Context, cluster string) error {
	name := s.name("m")
	s.wanted[cluster] = append(s.wanted[cluster], name)
	return s.createMachine(ctx, cluster, name)
}

func (s *soak) dropMachine(ctx context.Context) error {
	cluster := s.anyCluster()
	machines := s.wanted[cluster]
	if len(machines) == 0 {
		return nil
	}
	return s.removeMachine(ctx, cluster, machines[s.random.IntN(len(machines))])
}

func (s *soak) removeMachine(ctx context.Context, cluster, name string) error {
	s.wanted[cluster] = slices.DeleteFunc(s.wanted[cluster], func(m string) bool { return m == name })
	delete(s.lost, name)
	return s.forgetMachine(ctx, name)
}

// loseInstance deletes an instance outside the manager.
func (s *soak) loseInstance(ctx context.Context) error {
	cluster := s.anyCluster()
	for _, name := range s.wanted[cluster] {
		object := &infrav1.NvidiaBMMMachine{}
		if err := s.rig.client.Get(ctx, client.ObjectKey{Namespace: fleetNamespace, Name: name}, object); err != nil {
			return err
		}
		if object.Status.InstanceID == "" || s.lost[name] {
			continue
		}
		s.lost[name] = true
		return s.site.Ask(ctx, http.MethodPost, "vanish", map[string]string{"ID": object.Status.InstanceID}, nil)
	}
	return nil
}

func (s *soak) siteRefuses(ctx context.Context) error {
	operations := []string{"listInstances", "getInstance", "createInstance", "deleteInstance", "getSite", "getVpc"}
	for _, operation := range operations {
		fault := simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: http.StatusServiceUnavailable, Times: -1}
		if err := s.site.Ask(ctx, http.MethodPost, "faults", fault, nil); err != nil {
			return err
		}
	}
	if err := pause(ctx, s.upTo(10*time.Second)); err != nil {
		return err
	}
	return s.site.Ask(ctx, http.MethodDelete, "faults", nil, nil)
}

func (s *soak) agentDown(ctx context.Context) error {
	if err := s.siteState(ctx, sim.SiteAgentDown); err != nil {
		return err
	}
	if err := pause(ctx, s.upTo(10*time.Second)); err != nil {
		return err
	}
	return s.siteState(ctx, sim.SiteOnline)
}

func (s *soak) siteState(ctx context.Context, state sim.SiteState) error {
	return s.site.Ask(ctx, http.MethodPost, "sites", map[string]any{"ID": sim.DefaultSiteID, "State": state}, nil)
}

// hang stops a process for a while, as a machine does that swaps, or a network that is cut.
func (s *soak) hang(ctx context.Context, pid int, most time.Duration) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // the process is a child of ours
	return pause(ctx, s.upTo(most))
}

func (s *soak) killManager(ctx context.Context) error {
	s.manager.process.Kill()
	return s.startManager(ctx)
}

// alive fails when the manager has ended by itself.
func (s *soak) alive() error { return s.manager.process.ExitError() }

func (s *soak) upTo(most time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(most)))
}
