package sim

import (
	"strconv"
	"sync"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// power is the part of an instance that is about its machine.
type power struct {
	timer *time.Timer
	// turn is held while the booter is called, so that the calls for one machine alternate.
	turn sync.Mutex
	// booted means that PowerOn was called and PowerOff has not returned since.
	booted bool
}

// firstASN is the first of the private autonomous system numbers.
const firstASN = 4200000000

// schedulePowerOn powers the machine on when the instance becomes Ready. Server.mu is held.
func (s *Server) schedulePowerOn(i *instance, in time.Duration) {
	i.timer = time.AfterFunc(s.Real(in), func() { s.Run(func() { s.powerOn(i) }) })
}

// schedulePowerOff powers the machine off, now, in the background. Server.mu is held.
func (s *Server) schedulePowerOff(i *instance) {
	i.timer.Stop()
	go s.Run(func() { s.powerOff(i) })
}

func (s *Server) powerOn(i *instance) {
	i.turn.Lock()
	defer i.turn.Unlock()
	var machine Machine
	boot := false
	s.view(func(time.Time) {
		boot = i.Deleted.IsZero()
		i.booted = boot
		machine = s.bootView(i)
	})
	if !boot || s.booter == nil {
		return
	}
	s.Log.Info("power on", "machine", i.machine.id, "instance", i.id, "address", machine.Address)
	if err := s.booter.PowerOn(machine); err != nil {
		s.Log.Error("machine does not start", "machine", i.machine.id, "instance", i.id, "error", err)
		s.view(func(now time.Time) { i.Force(now, string(api.InstanceStatusError), "the machine doesn't start") })
	}
}

func (s *Server) powerOff(i *instance) {
	i.turn.Lock()
	defer i.turn.Unlock()
	var booted bool
	s.view(func(time.Time) { booted = i.booted })
	if booted && s.booter != nil {
		s.Log.Info("power off", "machine", i.machine.id, "instance", i.id)
		s.booter.PowerOff(i.machine.id)
	}
	s.view(func(time.Time) { i.booted = false })
}

// stopTimers keeps machines from being powered on any more.
func (s *Server) stopTimers() {
	s.view(func(time.Time) {
		for _, i := range s.state.onMachines() {
			i.timer.Stop()
		}
	})
}

// powerAllOff powers off what is still on.
func (s *Server) powerAllOff() {
	var all []*instance
	s.view(func(time.Time) { all = s.state.onMachines() })
	var off sync.WaitGroup
	for _, i := range all {
		off.Go(func() { s.powerOff(i) })
	}
	off.Wait()
}

// bootView is all that a machine gets to see.
func (s *Server) bootView(i *instance) Machine {
	site, _ := s.site(i.siteID) // checked when the simulator started
	primary := i.interfaces[0]
	for _, n := range i.interfaces {
		if n.physical {
			primary = n
			break
		}
	}
	return Machine{
		ID: i.machine.id, Hostname: i.name, Address: primary.address, UserData: []byte(i.request.UserData),
		Metadata: map[string]string{
			"hostname":    i.name,
			"sitename":    site.Name,
			"machine-id":  i.machine.id,
			"instance-id": i.id,
			"asn":         strconv.Itoa(firstASN + i.machine.number),
		},
	}
}
