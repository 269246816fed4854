package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/sim/hostile"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	hostileNamespace = "hostile"
	// hostileTrust lets some of the objects get further than their first call, in percent.
	hostileTrust = "60"
	// hostileLead is how long the hostile tenant is by itself.
	hostileLead = time.Minute
)

// hostileFigures are what it costs to make machines while the API of another tenant is hostile. Times are in seconds.
type hostileFigures struct {
	Objects int `json:"objects"`
	// The network of a cluster, in the mean, and then the machines, alone and beside the hostile API.
	NetworkAlone float64 `json:"networkAlone"`
	Network      float64 `json:"network"`
	Alone        float64 `json:"alone"`
	Up           float64 `json:"up"`
	PeakRSS      uint64  `json:"peakRSS"`
	// Reconciles are all of the manager.
	Reconciles float64 `json:"reconciles"`
}

// measureHostile does what measureSerial does, with these figures.
func (b bench) measureHostile(ctx context.Context, alone *serialFigures) (*hostileFigures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.dir, b.perCluster = filepath.Join(b.dir, "hostile"), b.serial
	rig, err := startRig(ctx, b.tools, b.dir, bmmSystem(serialWorld(b.serial, atSpeed(1))))
	if err != nil {
		return nil, err
	}
	defer rig.stop()
	r := &run{bench: b, rig: rig, fleet: fleet{client: rig.client}, tempo: atSpeed(1), machines: b.serial}
	if r.observer, err = rig.observe(ctx); err != nil {
		return nil, err
	}
	attacker, err := r.startAttacker(ctx)
	if err != nil {
		return nil, err
	}
	defer attacker.Stop(stopGrace)
	if err := rig.startManager(ctx); err != nil {
		return nil, err
	}
	f := &hostileFigures{Objects: b.hostile, NetworkAlone: alone.Network, Alone: alone.Up}
	return f, r.besideHostile(ctx, f)
}

// startAttacker starts a hostile API, and makes the objects of its tenant: clusters, and a machine for each.
func (r *run) startAttacker(ctx context.Context) (*process.Process, error) {
	listen := net.JoinHostPort(r.block.Address(254, 3).String(), "8080")
	p, err := process.Start(process.Command{
		Name: "hostile", Path: r.rig.tools.Path("bedplate"), Log: filepath.Join(r.rig.dir, "hostile.log"),
		Args: []string{"lab", "simulate", "bmm", "--hostile=all", "--seed=1", "--trust=" + hostileTrust, "--listen=" + listen},
	})
	if err != nil {
		return nil, err
	}
	tenant := fleet{client: r.rig.client, namespace: hostileNamespace, at: infrav1.SiteReference{ID: hostile.SiteID}}
	if err := p.WaitReady(ctx, func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", listen)
		if err != nil {
			return err
		}
		return connection.Close()
	}); err != nil {
		return p, err
	}
	if err := r.rig.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hostileNamespace}}); err != nil {
		return p, err
	}
	return p, each(ctx, r.hostile/2, func(ctx context.Context, n int) error {
		name := clusterName(n)
		// Each in its own account, so that nothing is shared.
		if err := tenant.login(ctx, name, fmt.Sprintf("http://%s/%d", listen, n)); err != nil {
			return err
		}
		if err := tenant.createCluster(ctx, name, name); err != nil {
			return err
		}
		return tenant.createMachine(ctx, name, machineName(n))
	})
}

func (r *run) besideHostile(ctx context.Context, f *hostileFigures) error {
	say("%d machines, and %d hostile objects: %s for these alone", r.machines, f.Objects, hostileLead)
	if err := pause(ctx, hostileLead); err != nil {
		return err
	}
	var err error
	if f.Network, err = r.networks(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := r.makeAll(ctx); err != nil {
		return err
	}
	f.Up = time.Since(began).Seconds()
	now, err := r.look(ctx)
	if err != nil {
		return err
	}
	f.PeakRSS, f.Reconciles = now.peak, now.reconciles
	say("%d machines, and %d hostile objects: up after %.0f + %.0f s, peak RSS %s", r.machines, f.Objects, f.Network, f.Up, mib(f.PeakRSS))
	return nil
}

func (f hostileFigures) lines() []line {
	const most = 1.1
	alone, up := f.NetworkAlone+f.Alone, f.Network+f.Up
	return []line{
		{"manager's peak RSS", mib(f.PeakRSS), fmt.Sprintf("%.0f reconciles", f.Reconciles), "< " + mib(maxRSS), f.PeakRSS < maxRSS},
		{"network and machines provisioned after", fmt.Sprintf("%.0f s", up), fmt.Sprintf("%.0f s alone; of these the network %.0f and %.0f s",
			alone, f.Network, f.NetworkAlone), fmt.Sprintf("≤ %.0f s: × %.1f", most*alone, most), up <= most*alone},
	}
}
