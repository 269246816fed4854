package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/krake/im"
)

// infrastructure whose state follows from the clock.
type infrastructure struct {
	id, user, userName, name string
	// cloud it is in: see cloudOf.
	cloud string
	// template, or what it was made of instead, in RADL.
	template template
	radl     string
	// kubeconfig is the output that SetKubeconfig has said, without which it isn't configured if byAdmin is true.
	kubeconfig string
	byAdmin    bool

	created time.Time
	// ready is when it is configured, as things are.
	ready    time.Time
	machines []machine
	// next is the ID of the next machine.
	next int
	// trouble of the configuration; nil if there is none.
	trouble *Outcome
	// forced is a state in spite of the clock.
	forced im.State
	// deleted is when a DELETE was accepted, forgotten when it is gone; zero before. A record has come back after that.
	deleted, forgotten time.Time
	record             bool
	log                []entry
}

// machine is a virtual one.
type machine struct {
	id      int
	node    string
	running time.Time
}

type entry struct {
	at   time.Time
	text string
}

// Outcome is what becomes of an infrastructure instead of being configured.
type Outcome struct {
	// State is im.Unconfigured or im.Failed.
	State im.State `json:"state"`
	// Message is in the log.
	Message string `json:"message,omitempty"`
	// After is for how long it is configured before, in seconds of simulated time.
	After int `json:"after,omitempty"`
	// Times is how many more configurations of it go wrong; -1 is all.
	Times int `json:"times,omitempty"`
}

// Gone reports whether nothing is left.
func (i *infrastructure) Gone(now time.Time) bool {
	return !i.deleted.IsZero() && !i.record && !now.Before(i.forgotten)
}

// creating reports whether no machine has ever been running.
func (i *infrastructure) creating(now time.Time) bool {
	return !slices.ContainsFunc(i.machines, func(m machine) bool { return !now.Before(m.running) })
}

// resize to the wanted number of machines for each node template; those of node templates that aren't mentioned stay. It returns the IDs
// of new machines.
func (i *infrastructure) resize(now time.Time, counts map[string]int, launch time.Duration) (added []int) {
	for _, node := range slices.Sorted(maps.Keys(counts)) {
		var have []machine
		for _, m := range i.machines {
			if m.node == node {
				have = append(have, m)
			}
		}
		for range counts[node] - len(have) {
			i.machines = append(i.machines, machine{i.next, node, now.Add(launch)})
			i.say(now, "VM %d of %s: launched", i.next, node)
			added = append(added, i.next)
			i.next++
		}
		if surplus := len(have) - counts[node]; surplus > 0 {
			from := have[len(have)-surplus].id
			i.machines = slices.DeleteFunc(i.machines, func(m machine) bool { return m.node == node && m.id >= from })
			i.say(now, "%d of %s: deleted", surplus, node)
		}
	}
	return added
}

// nextTrouble is that of the next configuration.
func (i *infrastructure) nextTrouble() {
	switch {
	case i.trouble == nil || i.trouble.Times < 0:
	case i.trouble.Times == 0:
		i.trouble = nil
	default:
		next := *i.trouble
		next.Times--
		i.trouble = &next
	}
}

// begin to configure all machines, as soon as they are running.
func (i *infrastructure) begin(now time.Time, takes time.Duration) {
	last := now
	for _, m := range i.machines {
		if m.running.After(last) {
			last = m.running
		}
	}
	if i.ready = last.Add(takes); !i.off() {
		i.forced = ""
	}
	i.log = slices.DeleteFunc(i.log, func(e entry) bool { return e.at.After(now) })
	i.say(last, "Configuring %d machines", len(i.machines))
	if i.trouble == nil {
		i.say(i.ready, "Contextualization agent output processed successfully")
		return
	}
	at := i.ready.Add(time.Duration(i.trouble.After) * time.Second)
	i.say(at, "fatal: FAILED! => %s", i.trouble.Message)
	i.say(at, "Some machines are %s", i.trouble.State)
}

// off reports whether the machines were stopped.
func (i *infrastructure) off() bool { return i.forced == im.Stopped || i.forced == im.Off }

func (i *infrastructure) say(at time.Time, format string, args ...any) {
	i.log = append(i.log, entry{at, fmt.Sprintf(format, args...)})
}

// contMsg is the log.
func (i *infrastructure) contMsg(now time.Time) string {
	var lines []string
	for _, e := range i.log {
		if !e.at.After(now) {
			lines = append(lines, e.at.UTC().Format("2006-01-02 15:04:05")+": "+e.text)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// stateOf a machine.
func (i *infrastructure) stateOf(m machine, now time.Time) im.State {
	switch {
	case !i.deleted.IsZero():
		return im.Deleting
	case i.forced != "":
		return i.forced
	case now.Before(m.running):
		return im.Pending
	case i.trouble != nil && i.trouble.State == im.Failed && i.trouble.After == 0:
		return im.Failed
	case now.Before(i.ready):
		return im.Running
	case i.trouble != nil && !now.Before(i.ready.Add(time.Duration(i.trouble.After)*time.Second)):
		return i.trouble.State
	case i.lacksKubeconfig():
		return im.Running
	}
	return im.Configured
}

// lacksKubeconfig reports whether the output has to be said yet.
func (i *infrastructure) lacksKubeconfig() bool {
	_, has := i.template.outputs()[kubeconfigOutput]
	return i.byAdmin && i.kubeconfig == "" && has
}

// worst first: an infrastructure has the first of these states that a machine has.
var worst = []im.State{
	im.Deleting, im.Failed, im.Unconfigured, im.Unknown, im.Off, im.Pending, im.Running, im.Stopped, im.Configured,
}

// state of all machines, and of the infrastructure.
func (i *infrastructure) state(now time.Time) im.Infrastructure {
	all := im.Infrastructure{State: im.Pending, VMs: map[string]im.State{}}
	if i.record {
		return all
	}
	first := len(worst)
	for _, m := range i.machines {
		state := i.stateOf(m, now)
		all.VMs[strconv.Itoa(m.id)] = state
		first = min(first, slices.Index(worst, state))
	}
	if first < len(worst) {
		all.State = worst[first]
	}
	return all
}
