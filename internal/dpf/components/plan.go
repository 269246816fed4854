package components

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bedplate/bedplate/internal/graph"
)

// Plan says what Apply would do. Its Client has to be one of dry runs: each object is applied in one, so that what the API server refuses
// is a step that fails.
func (s Set) Plan(ctx context.Context, wanted []*unstructured.Unstructured) (steps []graph.Step, _ error) {
	_, kinds, err := s.parent(ctx)
	if err != nil {
		return nil, err
	}
	maps.Copy(kinds, kindsOf(wanted))
	members, _, err := s.members(ctx, kinds)
	if err != nil {
		return nil, err
	}
	for _, want := range wanted {
		id := identityOf(want)
		step, now := stepOf(id, graph.ActionChange), members[id]
		delete(members, id)
		applied, err := s.apply(ctx, want, now)
		switch {
		case err != nil:
			step.Action, step.Why = graph.ActionFail, err.Error()
		case now == nil:
			step.Action = graph.ActionCreate
		case applied == now:
			step.Action = graph.ActionKeep
		}
		steps = append(steps, step)
	}
	for _, id := range slices.SortedFunc(maps.Keys(members), func(a, b identity) int { return strings.Compare(a.String(), b.String()) }) {
		steps = append(steps, stepOf(id, graph.ActionDelete))
	}
	return steps, nil
}

func stepOf(id identity, action graph.Action) graph.Step {
	return graph.Step{Key: id.Kind + "/" + strings.TrimPrefix(id.String(), id.Kind+" "), Kind: id.Kind, Action: action}
}
