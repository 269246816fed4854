// Package workload runs clusters that were made as a whole, without machines that boot: a real control plane for each, and a node for
// each of its machines.
package workload

import (
	"context"
	"log/slog"
	"sync"

	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// Tools are the programs that clusters need.
var Tools = append([]string{kubelet.Tool}, controlplane.Tools...)

// Config of clusters.
type Config struct {
	Dir   string // for a folder of each cluster
	Tools tools.Dir
	Log   *slog.Logger
	// Reached is called with the kubeconfig of a cluster's administrator, as soon as its API server answers.
	Reached func(id, kubeconfig string)
}

// Cluster as it is wanted.
type Cluster struct {
	ID string
	// Nodes are their names.
	Nodes []string
}

// Clusters that run.
type Clusters struct {
	config  Config
	running map[string]*cluster
	ended   sync.WaitGroup
}

// New has no clusters.
func New(config Config) *Clusters { return &Clusters{config: config, running: map[string]*cluster{}} }

// Sync lets those clusters run that are wanted, with their nodes, and no others. It doesn't wait until they do.
func (c *Clusters) Sync(wanted []Cluster) {
	stay := map[string]bool{}
	for _, w := range wanted {
		stay[w.ID] = true
		one, runs := c.running[w.ID]
		if !runs {
			one = c.start(w.ID)
		}
		one.want(w.Nodes)
	}
	for id, one := range c.running {
		if !stay[id] {
			one.cancel()
			delete(c.running, id)
		}
	}
}

func (c *Clusters) start(id string) *cluster {
	ctx, cancel := context.WithCancel(context.Background())
	one := &cluster{Config: c.config, id: id, cancel: cancel, changed: make(chan struct{}, 1)}
	c.running[id] = one
	c.ended.Go(func() { one.run(ctx) })
	return one
}

// Close ends all clusters, and returns when their processes have ended.
func (c *Clusters) Close() {
	c.Sync(nil)
	c.ended.Wait()
}
