package drawing

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// Measures in pixels. Each member has a column; a DPU is the frame around those of its members.
const (
	column  = 300
	gap     = 24
	margin  = 20
	box     = 44 // height of all boxes but the hosts'
	hostBox = 60
	line    = 16
	letter  = 6 // about its width

	hostsAt   = 50
	framesAt  = hostsAt + hostBox + 2*line + 14
	switchAt  = framesAt + 30
	routerAt  = switchAt + box + 26
	transitAt = routerAt + box + 26
	gatewayAt = transitAt + box + 26
)

// layout has the positions below the gateway routers, which depend on their texts.
type layout struct{ publicAt, framesEnd, fabricAt, bottom int }

func layoutOf(t *topology.Topology) layout {
	rules, ways := 2, 1
	for _, m := range t.Members {
		rules, ways = max(rules, len(translations(t, m))), max(ways, len(uplinks(m)))
	}
	l := layout{publicAt: gatewayAt + box + rules*line + 14}
	l.framesEnd = l.publicAt + box + ways*line + 10
	l.fabricAt = l.framesEnd + 25
	l.bottom = l.fabricAt + box + margin
	return l
}

const style = `text{font:12px ui-sans-serif,system-ui,sans-serif;fill:#1f2933;text-anchor:middle}
.name{font-weight:600}.small{font-size:11px;fill:#52606d}.left{text-anchor:start}.right{text-anchor:end}
rect{rx:6;stroke-width:1.5}.frame{fill:#f5f7fa;stroke:#9aa5b1;stroke-dasharray:5 4}.host{fill:#fff;stroke:#52606d}
.shared{fill:#fff3c4;stroke:#b44d12}.own{fill:#e0f2fe;stroke:#186faf}.fabric{fill:#e4e7eb;stroke:#52606d}
line{stroke:#52606d;stroke-width:1.5}`

// SVG writes a network as a picture: hosts above, the fabric below, and what is between them on each DPU.
func SVG(w io.Writer, t *topology.Topology) error {
	dpus := byDPU(t.Members)
	c := &canvas{layout: layoutOf(t)}
	right := margin
	for _, members := range dpus {
		c.frame(right, members)
		right += column*len(members) + gap
	}
	right = max(right-gap, margin+2*column)
	g := t.Group
	c.box("shared", margin, switchAt, right-margin, topology.SwitchName(g.Name), "logical switch · "+networks(g))
	c.box("shared", margin, routerAt, right-margin, g.RouterName(), "logical router · gateway "+gateways(g))
	c.box("fabric", margin, c.fabricAt, right-margin, "fabric", "")
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
`, right+margin, c.bottom, right+margin, c.bottom, style, margin, html.EscapeString(t.Group.Name), c.String())
	return err
}

// byDPU groups members by DPU, in the order of the first of them.
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
type canvas struct {
	strings.Builder
	layout
}

func (c *canvas) frame(x int, members []topology.Member) {
	width := column * len(members)
	fmt.Fprintf(c, `<rect class="frame" x="%d" y="%d" width="%d" height="%d"/>`, x, framesAt, width, c.framesEnd-framesAt)
	c.text("small right", x+width-10, framesAt+18, width/letter, dpu(members[0]))
}

// member is a host and its way to the fabric.
func (c *canvas) member(t *topology.Topology, m topology.Member, left int) {
	x, width := left+10, column-20
	wire, beside := left+26, left+34
	c.boxOf("host", x, hostsAt, width, hostBox, m.Name, hostIPs(m), m.HostMAC)
	c.line(wire, hostsAt+hostBox, switchAt)
	c.lines(beside, hostsAt+hostBox, topology.PortName(m.UID, m.Name), groups(m))
	if len(m.Routed()) == 0 {
		return
	}
	c.line(wire, routerAt+box, c.fabricAt)
	c.box("own", x, transitAt, width, m.TransitName(), links(t, m))
	c.box("own", x, gatewayAt, width, m.GatewayName(), "gateway router")
	c.box("own", x, c.publicAt, width, m.PublicName(), "public switch")
	c.lines(beside, gatewayAt+box, translations(t, m)...)
	c.lines(beside, c.publicAt+box, uplinks(m)...)
}

func (c *canvas) box(class string, x, y, width int, name, what string) {
	c.boxOf(class, x, y, width, box, name, what)
}

// boxOf has lines of text in its middle, the first of which is its name.
func (c *canvas) boxOf(class string, x, y, width, height int, lines ...string) {
	fmt.Fprintf(c, `<g><title>%s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`,
		html.EscapeString(strings.Join(lines, " ")), class, x, y, width, height)
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	for i, text := range lines {
		words := "small"
		if i == 0 {
			words = "name"
		}
		c.text(words, x+width/2, y+(height-len(lines)*line)/2+12+i*line, width/letter, text)
	}
	c.WriteString("</g>\n")
}

// lines of text below something, beside the wire.
func (c *canvas) lines(x, y int, lines ...string) {
	for i, text := range lines {
		if text != "" {
			c.text("small left", x, y+18+i*line, (column-34)/letter, text)
		}
	}
}

// line is vertical.
func (c *canvas) line(x, from, to int) {
	fmt.Fprintf(c, `<line x1="%d" y1="%d" x2="%d" y2="%d"/>`, x, from, x, to)
}

// text is cut where there is no room for more characters.
func (c *canvas) text(class string, x, y, longest int, s string) {
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest-1]) + "…"
	}
	fmt.Fprintf(c, `<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, html.EscapeString(s))
}
