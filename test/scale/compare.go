package main

import (
	"context"
	"fmt"
	"os"
	"time"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// cost of knowing how all instances are, once.
type cost struct {
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	// CPU seconds of the client and of the site that answers.
	CPU     float64 `json:"cpuSeconds"`
	SiteCPU float64 `json:"siteCPUSeconds"`
}

// compare learns how all instances are in two ways, with the manager's own client: with one list, as the manager does, and
// with a call for each machine, as others do.
func (r *run) compare(ctx context.Context) error {
	r.stopManager() // it would be counted as well
	api, err := r.site.client(sim.Carbide)
	if err != nil {
		return err
	}
	var instances []bmm.Instance
	r.figures.List, err = r.costOf(ctx, func() error {
		instances, err = api.Instances(ctx, bmm.InstanceFilter{SiteID: sim.DefaultSiteID})
		return err
	})
	if err != nil {
		return err
	}
	r.figures.Gets, err = r.costOf(ctx, func() error {
		return each(ctx, len(instances), func(ctx context.Context, n int) error {
			_, err := api.Instance(ctx, sim.DefaultSiteID, instances[n].ID)
			return err
		})
	})
	say("%d machines: a list takes %d calls, asking for each %d", r.machines, r.figures.List.Calls, r.figures.Gets.Calls)
	return err
}

func (r *run) costOf(ctx context.Context, ask func() error) (cost, error) {
	spent := func() (calls map[string]int, own, site usage, err error) {
		if calls, err = r.site.Calls(ctx); err != nil {
			return nil, own, site, err
		}
		if own, err = usageOf(os.Getpid()); err != nil {
			return nil, own, site, err
		}
		site, err = usageOf(r.site.process.PID())
		return calls, own, site, err
	}
	calls, own, site, err := spent()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	if err := ask(); err != nil {
		return cost{}, fmt.Errorf("ask for all instances: %w", err)
	}
	took := time.Since(began)
	callsAfter, ownAfter, siteAfter, err := spent()
	return cost{
		Calls: sum(since(calls, callsAfter)), Seconds: took.Seconds(),
		CPU: (ownAfter.cpu - own.cpu).Seconds(), SiteCPU: (siteAfter.cpu - site.cpu).Seconds(),
	}, err
}
