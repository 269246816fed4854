package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const atOnce = 16 // probes: most of them wait

// Flow is traffic that has to pass, or must not, and how it went.
type Flow struct {
	From     string         `json:"from"` // node
	To       string         `json:"to"`   // what has the address
	Address  netip.Addr     `json:"address"`
	Protocol probe.Protocol `json:"protocol"`
	Port     uint16         `json:"port,omitempty"`    // none for ICMP
	Passes   bool           `json:"passes"`            // whether it should
	Source   netip.Addr     `json:"source,omitzero"`   // that the other end has to see
	Problem  string         `json:"problem,omitempty"` // how it went otherwise
}

// Table writes flows as a readable list: pass or FAIL, and why.
func Table(w io.Writer, flows []Flow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\tFROM\tTO\tADDRESS\tBY\tEXPECTED")
	for _, f := range flows {
		verdict, expected := "pass", "no answer"
		if f.Passes {
			expected = "an answer"
		}
		if f.Source.IsValid() {
			expected += ", and to be seen as " + f.Source.String()
		}
		if f.Problem != "" {
			verdict, expected = "FAIL", expected+": "+f.Problem
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", verdict, f.From, f.To, f.Address, f.by(), expected)
	}
	return table.Flush()
}

func (f Flow) by() string {
	if f.Port == 0 {
		return string(f.Protocol)
	}
	return fmt.Sprintf("%s %d", f.Protocol, f.Port)
}

// Try sends packets, and writes into each flow what is wrong with it. It returns how many are. When ctx has ended meanwhile,
// what was written before stays.
func (o *Overlay) Try(ctx context.Context, flows []Flow) (wrong int) {
	problems := make([]string, len(flows))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, f := range flows {
		group.Go(func() error {
			problems[i] = f.judge(o.Reach(ctx, probe.Probe{
				From: f.From, Protocol: f.Protocol, To: netip.AddrPortFrom(f.Address, f.Port),
			}))
			return nil
		})
	}
	_ = group.Wait()
	for i := range flows {
		if ctx.Err() == nil {
			flows[i].Problem = problems[i]
		}
		if flows[i].Problem != "" {
			wrong++
		}
	}
	return wrong
}

// judge compares what came back with what should have. Only silence is isolation: a refusal has been there and back.
func (f Flow) judge(answer probe.Answer, err error) string {
	switch {
	case f.Passes && err != nil:
		return err.Error()
	case f.Passes && f.Source.IsValid() && answer.Source != f.Source:
		return fmt.Sprintf("it is seen as %s", answer.Source)
	case !f.Passes && err == nil:
		return "it passes"
	case !f.Passes && !errors.Is(err, probe.ErrNoAnswer):
		return err.Error()
	}
	return ""
}
