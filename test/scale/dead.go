package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// deadFigures are how long a cluster with a machine takes at a healthy endpoint, alone and beside clusters at three that don't
// answer. Times are in seconds. The manager is set as by default, and has only just begun, so that it knows no endpoint.
type deadFigures struct {
	Clusters int     `json:"clusters"`
	Alone    float64 `json:"alone"`
	Beside   float64 `json:"beside"`
	// Withheld are calls that weren't sent.
	Withheld float64 `json:"withheld"`
}

// measureDead makes the two clusters, at the speed of life.
func (b bench) measureDead(ctx context.Context) (*deadFigures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.dir, b.perCluster = filepath.Join(b.dir, "dead"), 1
	t := atSpeed(1)
	say("a cluster beside %d at dead endpoints: starting", b.dead)
	world := worldOf(2, t)
	world.APIName = sim.NICo
	world.Times.Create.Duration = serialCreate
	world.Times.InstanceMin.Duration, world.Times.InstanceMax.Duration = serialBoot, serialBoot+time.Second
	rig, err := startRig(ctx, b.tools, b.dir, bmmSystem(world))
	if err != nil {
		return nil, err
	}
	defer rig.stop()
	r := &run{bench: b, rig: rig, fleet: fleet{client: rig.client}, tempo: t, machines: 2}
	if r.observer, err = rig.observe(ctx); err != nil {
		return nil, err
	}
	f := &deadFigures{Clusters: b.dead}
	if f.Alone, err = r.upAfter(ctx, 0); err != nil {
		return nil, err
	}
	rig.stopManager()
	endpoints, end, err := deadEndpoints()
	if err != nil {
		return nil, err
	}
	defer end()
	if err := each(ctx, b.dead, func(ctx context.Context, n int) error {
		name := fmt.Sprintf("dead%03d", n)
		return errors.Join(r.login(ctx, name, endpoints[n%len(endpoints)]), r.createCluster(ctx, name, name))
	}); err != nil {
		return nil, err
	}
	if f.Beside, err = r.upAfter(ctx, 1); err != nil {
		return nil, err
	}
	metrics, err := rig.manager.scrape(ctx)
	if err != nil {
		return nil, err
	}
	f.Withheld = sum(metrics.by("bedplate_outside_calls_withheld_total", "system"))
	say("a cluster beside %d at dead endpoints: up after %.1f s, alone %.1f s", b.dead, f.Beside, f.Alone)
	return f, nil
}

// upAfter starts a manager, and says how many seconds the nth cluster at the healthy endpoint and its machine take.
func (r *run) upAfter(ctx context.Context, n int) (float64, error) {
	if err := r.startManager(ctx); err != nil {
		return 0, err
	}
	name, began := clusterName(n), time.Now()
	if err := errors.Join(r.login(ctx, name, r.site.URL), r.createCluster(ctx, name, name),
		r.createMachine(ctx, name, machineName(n))); err != nil {
		return 0, err
	}
	err := r.until(ctx, "the machine is provisioned", r.patience, func(context.Context) error {
		_, _, ready := r.tally()
		return count("machines", ready, n+1)
	})
	return time.Since(began).Seconds(), err
}

// deadEndpoints are one that accepts connections and never answers, one that refuses them, and one that doesn't even answer SYN.
func deadEndpoints() (urls []string, end func(), err error) {
	var open []func() error
	end = func() {
		for _, c := range open {
			_ = c() // they aren't needed any more
		}
	}
	var addresses []string
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and no process reads
		if err != nil {
			end()
			return nil, nil, err
		}
		open, addresses = append(open, listener.Close), append(addresses, listener.Addr().String())
	}
	_ = open[1]() // the address stays unused
	full, closeFull, err := fullBacklog()
	open, addresses = append(open, closeFull), append(addresses, full)
	if err != nil {
		end()
		return nil, nil, err
	}
	for _, address := range addresses {
		urls = append(urls, "http://"+address)
	}
	return urls, end, nil
}

// fullBacklog is an address at which no further connection can wait to be accepted.
func fullBacklog() (address string, end func() error, err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", func() error { return nil }, err
	}
	end = func() error { return syscall.Close(socket) }
	if err := errors.Join(syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(socket, 0)); err != nil {
		return "", end, err
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return "", end, err
	}
	address = fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for {
		if _, err := net.DialTimeout("tcp", address, time.Second); err != nil { // those that wait go with the socket
			return address, end, nil //nolint:nilerr // that there is no answer is what was wanted
		}
	}
}

func (f deadFigures) lines() []line {
	const maxRatio = 1.2
	most := maxRatio * f.Alone
	return []line{{"a cluster with a machine is up after", fmt.Sprintf("%.1f s", f.Beside),
		fmt.Sprintf("alone %.1f s; %.0f calls weren't sent", f.Alone, f.Withheld),
		fmt.Sprintf("≤ %.1f s: %.1f × alone", most, maxRatio), f.Beside <= most}}
}
