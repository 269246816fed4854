package controller

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// paceInterval is how often all groups are notified of the addresses of one DPU. A new DPU's are sent once.
const paceInterval = time.Minute

// pace bounds how often all groups are reconciled because of one DPU, whose addresses may change all the time.
type pace struct {
	now   func() time.Time
	mutex sync.Mutex
	due   map[resourcev1.IPAddress]time.Time // when groups are, or were, last notified of a DPU
}

func newPace(now func() time.Time) *pace {
	return &pace{now: now, due: map[resourcev1.IPAddress]time.Time{}}
}

// after how long groups are notified of a DPU: soon, or when its interval is over. What changes until then is included.
func (p *pace) after(dpu resourcev1.IPAddress, soon time.Duration) time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := p.now()
	maps.DeleteFunc(p.due, func(_ resourcev1.IPAddress, at time.Time) bool { return now.Sub(at) >= paceInterval })
	last, told := p.due[dpu]
	switch {
	case !told:
		p.due[dpu] = now.Add(soon)
	case !last.After(now):
		p.due[dpu] = last.Add(paceInterval)
	}
	return p.due[dpu].Sub(now)
}

// Burst and rate per second of the reconciles of a host, more than it takes to join and to leave several times; and of a group,
// for its DPUs' reports on the last change.
const turnsAtOnce, turnsPerSecond = 100, 2

// turns keep a host with constant changes from using up the workers, and the requests that the manager may make: its DPU may report
// something else each moment, and so may a flapping link.
type turns struct {
	mutex sync.Mutex
	of    map[types.NamespacedName]*rate.Limiter
}

func newTurns() *turns { return &turns{of: map[types.NamespacedName]*rate.Limiter{}} }

// wait is how long until it is a host's turn. 0 takes the turn.
func (t *turns) wait(host types.NamespacedName) time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	limiter := t.of[host]
	if limiter == nil {
		limiter = rate.NewLimiter(turnsPerSecond, turnsAtOnce)
		t.of[host] = limiter
	}
	turn := limiter.Reserve()
	wait := turn.Delay()
	if wait > 0 {
		turn.Cancel()
	}
	return wait
}

// forget a host that is gone.
func (t *turns) forget(host types.NamespacedName) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.of, host)
}
