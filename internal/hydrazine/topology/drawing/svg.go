package drawing

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// Measures in pixels. Each member has a column; a DPU is the frame around those of its members.
const (
	column = 220
	gap    = 24
	margin = 20
	box    = 44 // height of all boxes

	hostsAt   = 50
	framesAt  = 120
	switchAt  = 150
	routerAt  = 220
	transitAt = 290
	gatewayAt = 360
	publicAt  = 450
	framesEnd = 520
	fabricAt  = 545
	bottom    = fabricAt + box + margin
)

const style = `text{font:12px ui-sans-serif,system-ui,sans-serif;fill:#1f2933;text-anchor:middle}
.name{font-weight:600}.small{font-size:11px;fill:#52606d}.left{text-anchor:start}.right{text-anchor:end}
rect{rx:6;stroke-width:1.5}.frame{fill:#f5f7fa;stroke:#9aa5b1;stroke-dasharray:5 4}.host{fill:#fff;stroke:#52606d}
.shared{fill:#fff3c4;stroke:#b44d12}.own{fill:#e0f2fe;stroke:#186faf}.fabric{fill:#e4e7eb;stroke:#52606d}
line{stroke:#52606d;stroke-width:1.5}`

// SVG writes a network as a picture: hosts above, the fabric below, and what is between them on each DPU.
func SVG(w io.Writer, t *topology.Topology) error {
	dpus := byDPU(t.Members)
	c := &canvas{}
	right := margin
	for _, members := range dpus {
		c.frame(right, members)
		right += column*len(members) + gap
	}
	right = max(right-gap, margin+2*column)
	g := t.Group
	c.box("shared", margin, switchAt, right-margin, topology.SwitchName(g.Name), "logical switch · "+g.Network.String())
	c.box("shared", margin, routerAt, right-margin, g.RouterName(), "logical router · gateway "+g.Gateway.String())
	c.box("fabric", margin, fabricAt, right-margin, "fabric", "")
	c.line((margin+right)/2, switchAt+box, routerAt)
	left := margin
	for _, members := range dpus {
		for i, m := range members {
			c.member(t, m, left+i*column)
		}
		left += column*len(members) + gap
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<style>%s</style><rect width="100%%" height="100%%" fill="#fff"/>
<text class="name left" x="%d" y="28">ResourceGroup %s</text>
%s</svg>
`, right+margin, bottom, right+margin, bottom, style, margin, html.EscapeString(t.Group.Name), c.String())
	return err
}

// byDPU puts members of one DPU side by side, in the order of the first of them.
func byDPU(members []topology.Member) [][]topology.Member {
	var dpus [][]topology.Member
	at := map[string]int{}
	for _, m := range members {
		i, ok := at[m.Chassis]
		if !ok {
			i = len(dpus)
			at[m.Chassis] = i
			dpus = append(dpus, nil)
		}
		dpus[i] = append(dpus[i], m)
	}
	return dpus
}

// canvas collects what is drawn.
type canvas struct{ strings.Builder }

func (c *canvas) frame(x int, members []topology.Member) {
	width := column * len(members)
	fmt.Fprintf(c, `<rect class="frame" x="%d" y="%d" width="%d" height="%d"/>`, x, framesAt, width, framesEnd-framesAt)
	c.text("small right", x+width-10, framesAt+18, dpu(members[0]))
}

// member is a host and its way to the fabric.
func (c *canvas) member(t *topology.Topology, m topology.Member, left int) {
	x, width := left+10, column-20
	wire, beside := left+26, left+34
	c.box("host", x, hostsAt, width, m.Name, m.HostIP.String()+" · "+m.HostMAC)
	c.line(wire, hostsAt+box, switchAt)
	c.text("small left", beside, hostsAt+box+17, topology.PortName(m.UID, m.Name))
	if !m.Routed() {
		return
	}
	c.line(wire, routerAt+box, fabricAt)
	c.box("own", x, transitAt, width, m.TransitName(), "transit switch · "+t.Link(m).String())
	c.box("own", x, gatewayAt, width, m.GatewayName(), "gateway router")
	c.box("own", x, publicAt, width, m.PublicName(), "public switch")
	for i, rule := range translations(m) {
		c.text("small left", beside, gatewayAt+box+18+i*16, rule)
	}
	c.text("small left", beside, publicAt+box+17, uplink(m))
}

func (c *canvas) box(class string, x, y, width int, name, what string) {
	fmt.Fprintf(c, `<g><title>%s %s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`,
		html.EscapeString(name), html.EscapeString(what), class, x, y, width, box)
	middle := x + width/2
	if what == "" {
		c.text("name", middle, y+box/2+4, name)
	} else {
		c.text("name", middle, y+18, name)
		c.text("small", middle, y+35, what)
	}
	c.WriteString("</g>\n")
}

// line goes straight down.
func (c *canvas) line(x, from, to int) {
	fmt.Fprintf(c, `<line x1="%d" y1="%d" x2="%d" y2="%d"/>`, x, from, x, to)
}

func (c *canvas) text(class string, x, y int, s string) {
	const longest = 34 // characters that fit into a column
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest-1]) + "…"
	}
	fmt.Fprintf(c, `<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, html.EscapeString(s))
}
