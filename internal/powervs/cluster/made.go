package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// madeByParam is the fingerprint of the part of the spec that a resource was made by.
const madeByParam = "entry"

// compareWithSpec compares a resource with the part of the spec that it was made by, which the service doesn't show, or can't change. That may
// have changed before the status showed the resource, and admission refuses a change only from then on: refusal says so. The parts are that of
// the spec, and others that make the same.
func compareWithSpec[T any](r *resources, want *graph.Want[T], refusal string, parts ...any) {
	var entries []string
	for _, part := range parts {
		entries = append(entries, fingerprint(part))
	}
	want.Choose = func(_ context.Context, existing *T) (map[string]string, error) {
		if existing != nil { // by what it was made isn't known
			return map[string]string{madeByParam: ""}, nil
		}
		return map[string]string{madeByParam: entries[0]}, nil
	}
	want.Update = func(*T) graph.Update {
		if made := r.graph.Param(want.Key, madeByParam); made == "" || slices.Contains(entries, made) {
			return graph.Update{}
		}
		return graph.Update{
			Changes: []graph.Change{{Field: "entry", From: "as it was made", To: "as in the spec"}},
			Refused: &fault.Error{Class: fault.Invalid, Err: errors.New(refusal)},
		}
	}
}

func fingerprint(part any) string {
	text, _ := json.Marshal(part) // it came as JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
