package dpuagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// cookie of our flows, and which of its bits say so. Other programs' flows stay.
	cookie, cookieMask = "0xbedd000000000000", "0xffff000000000000"
	// Learned addresses age as those of a switch do, and their number is bounded as a switch's table is.
	learnedTimeout, learnedLimit = 300, 4096

	openFlow    = "OpenFlow14" // the first one with bundles
	flowTimeout = 5 * time.Second
)

// flows of the bridge, by ovs-ofctl: OVSDB has none.
type flows struct {
	program, dir string // dir has the control sockets of bridges
	// wanted and seen are the flows that were written last, and how Open vSwitch showed them then.
	wanted, seen string
}

// apply the segments: at once, and only if something differs from what was written last. Packets are forwarded by the old ones or by the
// new ones, never by half of them.
func (f *flows) apply(ctx context.Context, segments [][]plug, numbers map[string]int) error {
	wanted := flowsOf(segments, numbers)
	if wanted == f.wanted {
		if now, err := f.dump(ctx); err != nil || now == f.seen {
			return err
		}
	}
	f.wanted = "" // until it is done
	if _, err := f.run(ctx, "delete cookie="+cookie+"/"+cookieMask+"\n"+wanted, "--bundle", "add-flows", f.bridge(), "-"); err != nil {
		return fmt.Errorf("write the flows of %s: %w", Bridge, err)
	}
	seen, err := f.dump(ctx)
	if err == nil {
		f.wanted, f.seen = wanted, seen
	}
	return err
}

// dump all flows of ours but the learned ones, without counters.
func (f *flows) dump(ctx context.Context) (string, error) {
	said, err := f.run(ctx, "", "--no-stats", "dump-flows", f.bridge(), "cookie="+cookie+"/-1")
	if err != nil {
		return "", fmt.Errorf("read the flows of %s: %w", Bridge, err)
	}
	lines := strings.Split(said, "\n") // in any order
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func (f *flows) bridge() string { return "unix:" + filepath.Join(f.dir, Bridge+".mgmt") }

func (f *flows) run(ctx context.Context, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, flowTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, f.program, append([]string{"--protocols=" + openFlow}, args...)...)
	var said, complaint bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &said, &complaint
	err := command.Run()
	if text := strings.TrimSpace(complaint.String()); err != nil && text != "" {
		err = errors.New(text)
	}
	return said.String(), err
}

// flowsOf the segments, in the language of ovs-ofctl. Each segment is a switch that learns addresses:
//
//   - Table 0 says which plug of which segment a packet comes from (registers 1 and 0), and learns its source.
//   - Table 1 has what was learned: the plug that an address is at (register 2).
//   - Table 2 sends to that plug, or to all others of the segment.
//
// What comes from no plug is dropped. Plugs without a number are left out. A packet never leaves by the port that it came from.
func flowsOf(segments [][]plug, numbers map[string]int) string {
	var text strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&text, "add cookie="+cookie+","+format+"\n", args...) }
	id := 0
	for n, segment := range segments {
		first := id + 1
		for _, from := range segment {
			id++
			number, ok := numbers[from.port]
			if !ok {
				continue
			}
			match, priority, strip := fmt.Sprintf("in_port=%d", number), 100, ""
			if from.vlan != 0 {
				match, priority, strip = fmt.Sprintf("%s,dl_vlan=%d", match, from.vlan), 200, "pop_vlan,"
			}
			add("table=0,priority=%d,%s,actions=%sset_field:%d->reg0,set_field:%d->reg1,"+
				"learn(table=1,priority=100,idle_timeout=%d,limit=%d,cookie=%s1,NXM_NX_REG0[],NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],load:%d->NXM_NX_REG2[]),"+
				"resubmit(,1),resubmit(,2)", priority, match, strip, n+1, id, learnedTimeout, learnedLimit, strings.TrimSuffix(cookie, "0"), id)
			add("table=2,priority=200,reg2=%d,actions=%s", id, emit(from, number))
			var others []string
			for i, to := range segment {
				if number, ok := numbers[to.port]; ok && first+i != id {
					others = append(others, emit(to, number))
				}
			}
			if len(others) > 0 {
				add("table=2,priority=100,reg1=%d,reg2=0,actions=%s", id, strings.Join(others, ","))
			}
		}
	}
	return text.String()
}

// emit a packet, which is afterwards as before.
func emit(to plug, number int) string {
	if to.vlan == 0 {
		return fmt.Sprintf("output:%d", number)
	}
	const present = 0x1000 // a tag that is there (OFPVID_PRESENT)
	return fmt.Sprintf("push_vlan:0x8100,set_field:%d->vlan_vid,output:%d,pop_vlan", present+to.vlan, number)
}
