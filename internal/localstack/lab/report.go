package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Reporter shows progress to a user. Show and Refresh must not run at the same time.
type Reporter interface {
	Show(Event)
	Refresh() // called about once a second, to show a running clock
}

// JSONReporter writes one JSON object per line.
func JSONReporter(w io.Writer) Reporter { return &jsonReporter{json.NewEncoder(w)} }

type jsonReporter struct{ encoder *json.Encoder }

func (r *jsonReporter) Show(e Event) { _ = r.encoder.Encode(e) }
func (r *jsonReporter) Refresh()     {}

// PlainReporter writes one line per event, for pipes and logs.
func PlainReporter(w io.Writer) Reporter { return &plainReporter{w} }

type plainReporter struct{ w io.Writer }

func (r *plainReporter) Show(e Event) {
	if e.Step == "" {
		return
	}
	line := fmt.Sprintf("%6.1fs  %-20s %s", e.Elapsed, e.Step, e.State)
	if e.Message != "" {
		line += ": " + oneLine(e.Message)
	}
	_, _ = fmt.Fprintln(r.w, line)
}

func (r *plainReporter) Refresh() {}

// TerminalReporter rewrites one line per step, each with its own clock. Width is the terminal's, in columns.
func TerminalReporter(w io.Writer, width int) Reporter {
	return &terminalReporter{w: w, width: width, began: time.Now()}
}

type terminalReporter struct {
	w     io.Writer
	width int
	began time.Time
	steps []*stepLine
	drawn int // lines on the screen that are rewritten
}

type stepLine struct {
	name           string
	state          State
	message        string
	started, ended float64 // seconds since the lab's start
}

func (r *terminalReporter) Show(e Event) {
	if e.Step == "" {
		return
	}
	line := r.line(e)
	line.state, line.message = e.State, oneLine(e.Message)
	if e.State == Done || e.State == Failed {
		line.ended = e.Elapsed
	}
	r.Refresh()
}

func (r *terminalReporter) line(e Event) *stepLine {
	for _, line := range r.steps {
		if line.name == e.Step {
			return line
		}
	}
	line := &stepLine{name: e.Step, started: e.Elapsed}
	r.steps = append(r.steps, line)
	return line
}

func (r *terminalReporter) Refresh() {
	var screen strings.Builder
	if r.drawn > 0 {
		fmt.Fprintf(&screen, "\x1b[%dA", r.drawn)
	}
	for _, line := range r.steps {
		screen.WriteString("\x1b[2K" + r.format(line) + "\n")
	}
	r.drawn = len(r.steps)
	_, _ = io.WriteString(r.w, screen.String())
}

func (r *terminalReporter) format(line *stepLine) string {
	mark, until := "…", time.Since(r.began).Seconds()
	switch line.state {
	case Done:
		mark, until = "✓", line.ended
	case Failed:
		mark, until = "✗", line.ended
	}
	text := []rune(fmt.Sprintf("%s %-20s %6.1fs  %s", mark, line.name, max(0, until-line.started), line.message))
	if len(text) > r.width-1 {
		text = append(text[:max(0, r.width-2)], '…')
	}
	return string(text)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
