package controller

import (
	"maps"
	"sync"
	"time"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// paceInterval is how often the addresses of one DPU are news for all groups. A DPU that is new has them once.
const paceInterval = time.Minute

// pace bounds how often all groups are reconciled because of one DPU, whose addresses may change all the time.
type pace struct {
	now   func() time.Time
	mutex sync.Mutex
	due   map[resourcev1.IPAddress]time.Time // when groups are, or were, told of a DPU last
}

func newPace(now func() time.Time) *pace {
	return &pace{now: now, due: map[resourcev1.IPAddress]time.Time{}}
}

// after how long groups are told of a DPU: soon, or when its interval is over. What changes until then is told with it.
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
