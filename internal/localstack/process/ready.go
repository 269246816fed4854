package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	probeInterval = 100 * time.Millisecond
	probeTimeout  = 5 * time.Second
	tailLines     = 15
	tailBytes     = 16 << 10
)

// ExitError is the end of a process that should have gone on.
type ExitError struct {
	Name string // of the process
	How  string // such as "exit status 1" or "signal: killed"
	Log  string // path of its log
	Tail string // last lines of its log
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s ended (%s); the end of %s:\n%s", e.Name, e.How, e.Log, indent(e.Tail))
}

// Restarted is the end of a process that is started again.
type Restarted struct{ End error }

func (r *Restarted) Error() string { return "started again: " + r.End.Error() }

func (r *Restarted) Unwrap() error { return r.End }

// WaitReady calls probe until it returns nil. It fails early, with the end of the log, when the process ends, and with
// the last answer of the probe when ctx ends.
func (p *Process) WaitReady(ctx context.Context, probe func(context.Context) error) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	var last error
	for {
		err := probeOnce(ctx, probe)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // a probe cut short by ctx says nothing about the process
			last = err
		}
		select {
		case <-p.done:
			return p.ExitError()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w); the end of %s:\n%s",
				p.name, last, context.Cause(ctx), p.log, indent(Tail(p.log, tailLines)))
		case <-ticker.C:
		}
	}
}

func probeOnce(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return probe(ctx)
}

// Tail returns the last lines of a file, at most 16 KiB; "" when it can't be read.
func Tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	end, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return ""
	}
	all := strings.Split(string(bytes.TrimRight(end, "\n")), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// AnswersOK is a probe for WaitReady: a GET of the URL answers 200.
func AnswersOK(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
