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

// auditPolicy: of the operator's writes also what is written.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: None
    resources:
      - {group: coordination.k8s.io, resources: [leases]}
      - {group: authentication.k8s.io, resources: [tokenreviews]}
      - {group: authorization.k8s.io, resources: [subjectaccessreviews]}
  - level: Request
    users: ["system:serviceaccount:dpf-operator-system:bedplate-dpf-manager"]
    verbs: [create, update, patch, delete]
  - level: Metadata
    users: ["system:serviceaccount:dpf-operator-system:bedplate-dpf-manager"]
  - level: None
`

// recordsOfNodes are the ConfigMaps of the journal with the records of nodes.
const recordsOfNodes = "records"

// deed is a call of the operator's that the API server has answered. Its leases, and its questions who reads its metrics, are none.
type deed struct {
	at       time.Time
	verb     string
	resource string // with its subresource, such as "nodes/status"
	name     string
	code     int
	bytes    int // of what was written, in JSON
}

func (d deed) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, d.verb)
}

// done is a deed that wasn't refused, such as by a conflict.
func (d deed) done() bool { return d.code < 300 }

func (d deed) String() string { return d.verb + " " + d.resource }

// deeds since a moment, as the audit log has them.
func (r *dpfRig) deeds(since time.Time) (all []deed, _ error) {
	file, err := os.Open(filepath.Join(r.dir, "management", "audit.log"))
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	for lines := json.NewDecoder(file); ; {
		var event struct {
			RequestReceivedTimestamp time.Time
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
		if event.RequestReceivedTimestamp.Before(since) {
			continue
		}
		d := deed{
			at: event.RequestReceivedTimestamp, verb: event.Verb, name: event.ObjectRef.Name, code: event.ResponseStatus.Code, bytes: len(event.RequestObject),
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

func written(d deed) bool { return d.writes() && d.done() }

// written of the status of the DPFOperatorConfig.
func ofStatus(d deed) bool { return written(d) && d.resource == "dpfoperatorconfigs/status" }
