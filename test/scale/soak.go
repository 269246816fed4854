package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// endurance is how long, and with what, the manager is worn out.
type endurance struct {
	duration, storm    time.Duration
	seed               uint64
	clusters, machines int
	speed              float64
	dir                string
	tools              tools.Dir
}

func soakCommand() *cobra.Command {
	var e endurance
	var bin string
	command := &cobra.Command{
		Use:   "soak",
		Short: "Wear the manager out: random changes, faults, kills and outages; then look for leaks",
		Long: `Storms and calms by turns. In a storm clusters and machines come and go at random while calls fail at random,
the manager is killed with -9, and the site or the API server hangs. In a calm everything has to become as it should: nothing
is missing, left over or doubled outside. After a third of the time the manager isn't killed any more, and once it is grown up
its memory and its goroutines have to stay what they are.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if e.tools, err = tools.Find(bin); err != nil {
				return err
			}
			return e.run(c.Context())
		},
	}
	flags := command.Flags()
	flags.DurationVar(&e.duration, "duration", 30*time.Minute, "for how long")
	flags.DurationVar(&e.storm, "storm", 40*time.Second, "length of a storm")
	flags.Uint64Var(&e.seed, "seed", uint64(time.Now().UnixNano()), "seed of all that is random; it is printed")
	flags.IntVar(&e.clusters, "clusters", 4, "clusters in a calm")
	flags.IntVar(&e.machines, "machines", 8, "machines of each cluster in a calm")
	flags.Float64Var(&e.speed, "speed", 60, "how many times as fast as life everything happens")
	flags.StringVar(&e.dir, "dir", "", "folder for logs and data, kept (default: a temporary one)")
	flags.StringVar(&bin, "tools", "", "folder with the tools (default: see `make tools`)")
	return command
}

// soak is an endurance run.
type soak struct {
	endurance
	*rig
	*observer
	fleet
	random *rand.Rand
	tempo  tempo
	// wanted are the machines of each cluster that there should be; lost those whose instances were taken from them.
	wanted map[string][]string
	lost   map[string]bool
	serial int
	// born is when the manager was started, and vitals what was seen of it since.
	born   time.Time
	vitals []vital
}

func (e endurance) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir, remove, err := folder(e.dir)
	if err != nil {
		return err
	}
	defer remove()
	e.dir = dir
	say("seed %d, for %s", e.seed, e.duration)
	t := atSpeed(e.speed)
	rig, err := startRig(ctx, e.tools, e.dir, bmmSystem(worldOf(4*e.clusters*e.machines, t)))
	if err != nil {
		return err
	}
	defer rig.stop()
	s := &soak{
		endurance: e, rig: rig, fleet: fleet{client: rig.client}, tempo: t, wanted: map[string][]string{}, lost: map[string]bool{},
		random: rand.New(rand.NewPCG(e.seed, e.seed)),
	}
	if s.observer, err = rig.observe(ctx); err != nil {
		return err
	}
	if err := s.startManager(ctx); err != nil {
		return err
	}
	if err := s.cycles(ctx); err != nil {
		return fmt.Errorf("seed %d: %w", e.seed, err)
	}
	return nil
}

func (s *soak) startManager(ctx context.Context) error {
	s.born, s.vitals = time.Now(), nil
	// Without the lease a new manager begins at once, while what the old one has begun is still under way.
	return s.rig.startManager(ctx, append(s.tempo.flags(), "--leader-elect=false")...)
}

func (s *soak) cycles(ctx context.Context) error {
	began := time.Now()
	if err := s.calm(ctx); err != nil {
		return err
	}
	for n := 1; n == 1 || time.Since(began) < s.duration; n++ {
		if err := s.tempest(ctx, time.Since(began) < s.duration/3); err != nil {
			return fmt.Errorf("storm %d: %w", n, err)
		}
		if err := s.calm(ctx); err != nil {
			return fmt.Errorf("calm %d: %w", n, err)
		}
	}
	if err := s.removeAll(ctx); err != nil {
		return fmt.Errorf("the end: %w", err)
	}
	return s.judge()
}

// calm ends all faults, lets the fleet become what it should be, and checks it and the manager.
func (s *soak) calm(ctx context.Context) error {
	if err := s.heal(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx); err != nil {
		return err
	}
	if err := s.untilRight(ctx); err != nil {
		return err
	}
	// What a dead client has begun may still come.
	if err := pause(ctx, s.tempo.Settle); err != nil {
		return err
	}
	if err := s.audit(ctx); err != nil {
		return err
	}
	return s.examine(ctx)
}

// fill brings the fleet to its full size, and replaces the machines that have lost their instances.
func (s *soak) fill(ctx context.Context) error {
	for cluster, machines := range s.wanted {
		for _, m := range append([]string(nil), machines...) {
			if s.lost[m] {
				if err := s.removeMachine(ctx, cluster, m); err != nil {
					return err
				}
			}
		}
	}
	for len(s.wanted) < s.clusters {
		if err := s.addCluster(ctx); err != nil {
			return err
		}
	}
	for _, cluster := range s.names()[:len(s.wanted)-s.clusters] {
		if err := s.removeCluster(ctx, cluster); err != nil {
			return err
		}
	}
	for cluster := range s.wanted {
		for len(s.wanted[cluster]) < s.machines {
			if err := s.addMachine(ctx, cluster); err != nil {
				return err
			}
		}
		for len(s.wanted[cluster]) > s.machines {
			if err := s.removeMachine(ctx, cluster, s.wanted[cluster][0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeAll ends the fleet, and wants nothing to be left outside.
func (s *soak) removeAll(ctx context.Context) error {
	for _, cluster := range s.names() {
		if err := s.removeCluster(ctx, cluster); err != nil {
			return err
		}
	}
	if err := s.untilRight(ctx); err != nil {
		return err
	}
	if err := s.audit(ctx); err != nil {
		return err
	}
	state, err := s.site.State(ctx)
	if err != nil {
		return err
	}
	if !state.Empty() {
		return fmt.Errorf("something is left outside: %+v", state)
	}
	say("all deleted, nothing left outside")
	return nil
}
