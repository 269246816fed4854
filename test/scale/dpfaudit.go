package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// recordsOfNodes are the ConfigMaps of the journal with the records of nodes.
const recordsOfNodes = "records"

// deed is a write of the operator's that the API server has answered. Its lease and its events are none.
type deed struct {
	at       time.Time
	verb     string
	resource string // with its subresource, such as "nodes/status"
	name     string
	code     int
	bytes    int // of what was written, in JSON
}

// done is a deed that wasn't refused, such as by a conflict.
func (d deed) done() bool { return d.code < 300 }

func (d deed) String() string { return d.verb + " " + d.resource }

// deeds since a moment, as the audit log has them.
func (r *dpfRig) deeds(since time.Time) (all []deed, _ error) {
	files, err := filepath.Glob(filepath.Join(r.dir, "management", "audit*.log")) // in their order: a full one has its time in its name
	for _, file := range files {
		more, readErr := r.deedsIn(file)
		all, err = append(all, more...), errors.Join(err, readErr)
	}
	return slices.DeleteFunc(all, func(d deed) bool { return d.at.Before(since) }), err
}

func (r *dpfRig) deedsIn(path string) (all []deed, _ error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	account := "system:serviceaccount:" + r.system.namespace + ":" + r.system.account
	for lines := json.NewDecoder(file); ; {
		var event struct {
			RequestReceivedTimestamp time.Time
			User                     struct{ Username string }
			Verb                     string
			ObjectRef                struct{ Resource, Subresource, Name string }
			ResponseStatus           struct{ Code int }
			RequestObject            json.RawMessage
		}
		err := lines.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last one is being written
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if event.User.Username != account {
			continue
		}
		d := deed{
			at: event.RequestReceivedTimestamp, verb: event.Verb, name: event.ObjectRef.Name, code: event.ResponseStatus.Code,
			bytes:    len(event.RequestObject),
			resource: strings.TrimSuffix(event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/"),
		}
		if strings.HasPrefix(d.name, "dpf-journal-nodes-") {
			d.resource = recordsOfNodes
		}
		all = append(all, d)
	}
}

// tally of deeds by what they are.
func tally(deeds []deed, counts func(deed) bool) map[string]int {
	numbers := map[string]int{}
	for _, d := range deeds {
		if counts(d) {
			numbers[d.String()]++
		}
	}
	return numbers
}

// statusBytes of a write of the DPFOperatorConfig's status: the mean, and the most.
func statusBytes(deeds []deed) (mean float64, most int) {
	total, n := 0, 0
	for _, d := range deeds {
		if d.done() && d.resource == "dpfoperatorconfigs/status" {
			total, n, most = total+d.bytes, n+1, max(most, d.bytes)
		}
	}
	return float64(total) / float64(max(1, n)), most
}
