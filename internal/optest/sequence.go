package optest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// refusals is how many steps admission may refuse for each that it is asked to allow.
	refusals = 10
	// In one of so many sequences the first step follows before the object is ready.
	soon = 4
	// One of so many refused steps is tried on a new object, which has no immutable fields yet.
	triedAsNew = 4
	// One of so many steps follows at once, before the one before has settled.
	atOnce = 5
)

// sequence of operations on one object.
type sequence struct {
	*run
	values values
	found  *Finding
	count  counts
	// good are the specs with which the object was ready.
	good []map[string]any
	// outside is what existed with the last of these.
	outside []string
	// early: the object was just created, and isn't ready yet; hasty: it was so at the first step.
	early, hasty bool
}

// all of a sequence: the object is created, changed in some steps, compared with a new one, and deleted.
func (q *sequence) all(ctx context.Context, steps int) error {
	if err := q.begin(ctx); err != nil {
		return err
	}
	for asked, most := 0, refusals*steps; steps > 0 && asked < most; asked++ {
		allowed, err := q.step(ctx)
		if err != nil {
			return err
		}
		if allowed {
			steps--
		}
	}
	if err := q.compare(ctx); err != nil {
		return err
	}
	return q.changed.remove(ctx)
}

// begin creates the example, and waits until it is ready; or only for a moment: then less of it is immutable.
func (q *sequence) begin(ctx context.Context) error {
	object, err := q.changed.example()
	if err != nil {
		return err
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	q.found.Spec, q.early = spec, q.values.random.IntN(soon) == 0 && !q.Patient
	q.hasty = q.early
	if q.early {
		fresh, err := q.new(ctx, spec, true)
		if err != nil || !fresh.ready {
			return fmt.Errorf("the example isn't ready (%s): %w", fresh.why, errors.Join(err, fresh.refused))
		}
		q.good, q.outside = append(q.good, spec), fresh.outside
	}
	if err := q.changed.create(ctx, spec); err != nil {
		return fmt.Errorf("create the example: %w", err)
	}
	if q.early {
		moment := time.Duration(q.values.random.Int64N(int64(rest * q.changed.Poll)))
		q.found.Steps = append(q.found.Steps, fmt.Sprintf("(%s after the object was created)", moment.Round(time.Millisecond)))
		return pause(ctx, moment)
	}
	s, err := q.changed.hope(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("the example: %w", err)
	case !s.ready:
		return fmt.Errorf("the example isn't ready (%s)", s.why)
	}
	return q.isGood(ctx, s)
}

// step asks for one operation, and lets the object settle if that is allowed.
func (q *sequence) step(ctx context.Context) (allowed bool, _ error) {
	spec := q.good[len(q.good)-1]
	if allowed, err := q.ask(ctx, spec); err != nil || !allowed {
		return false, err
	}
	q.early = false
	for q.values.random.IntN(atOnce) == 0 {
		if _, err := q.ask(ctx, q.found.Spec); err != nil {
			return true, err
		}
	}
	s, err := q.changed.settle(ctx, q.values.random.IntN(atOnce) == 0)
	if err := cmp.Or(q.panicked(), err); err != nil {
		return true, err
	}
	q.log("  ready: %t (%s)", s.ready, s.why)
	if s.ready {
		q.count.ready++
		return true, q.isGood(ctx, s)
	}
	q.count.bad++
	return true, q.heal(ctx, s)
}

// ask the API server for one operation on a spec.
func (q *sequence) ask(ctx context.Context, spec map[string]any) (allowed bool, _ error) {
	o := q.values.next(q.schema, spec, q.good)
	if equal(o.spec, spec) {
		return false, nil
	}
	q.count.operations++
	err := q.changed.write(ctx, o.spec, q.Written)
	q.log("%s: %v", o.what, err)
	switch {
	case err == nil:
		q.found.Steps, q.found.Spec = append(q.found.Steps, o.what), o.spec
		q.count.allowed++
		q.total.changed(o.fields)
		return true, nil
	case !isRefused(err):
		q.found.Steps = append(q.found.Steps, o.what)
		return false, fmt.Errorf("admission should allow or refuse it: %w", err)
	}
	q.count.refused++
	if q.values.random.IntN(triedAsNew) > 0 || q.early {
		return false, nil
	}
	q.count.asNew++
	if _, err := q.new(ctx, o.spec, false); err != nil {
		q.found.Steps, q.found.Spec = append(q.found.Steps, "as a new object: "+o.what), o.spec
		return false, err
	}
	return false, nil
}

// isRefused reports whether the API server or a webhook has judged the object, and neither a call nor a rule has failed.
func isRefused(err error) bool {
	refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
	return refused && !strings.Contains(err.Error(), "evaluating rule")
}

// isGood remembers the spec as it is stored: with defaults, and with what the manager wrote.
func (q *sequence) isGood(ctx context.Context, s state) error {
	object, err := q.changed.read(ctx)
	if err != nil {
		return err
	}
	spec, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return err
	}
	q.good, q.outside, q.found.Spec = append(q.good, spec), s.outside, spec
	return nil
}

// heal puts the last good spec back in place of one with which the object isn't ready.
func (q *sequence) heal(ctx context.Context, bad state) error {
	fresh, err := q.new(ctx, q.found.Spec, false)
	if err != nil {
		return err
	}
	if fresh.ready {
		if bad, err = q.changed.hope(ctx); err != nil {
			return err
		} else if bad.ready {
			return q.isGood(ctx, bad)
		}
	}
	reason, _, _ := strings.Cut(bad.why, ":")
	fixed := q.hasty && slices.Contains(q.Fixed, reason)
	if fresh.ready && !fixed {
		return fmt.Errorf("it isn't ready (%s), and a new object of the same spec is: outside there is %s", bad.why,
			difference(bad.outside, fresh.outside))
	}
	good := q.good[len(q.good)-1]
	q.found.Steps = append(q.found.Steps, fmt.Sprintf("(not ready: %s) put the good spec back", bad.why))
	if err := q.changed.write(ctx, good, q.Written); err != nil {
		return fmt.Errorf("a bad value was allowed, and the way back isn't: %w", err)
	}
	q.found.Spec = good
	switch s, err := q.changed.hope(ctx); {
	case err != nil:
		return err
	case !s.ready:
		return fmt.Errorf("it doesn't heal: with the good spec it isn't ready (%s)", s.why)
	case !slices.Equal(s.outside, q.outside):
		return fmt.Errorf("it doesn't heal: outside there is %s", difference(s.outside, q.outside))
	}
	return nil
}

// compare the object with a new one of the same spec.
func (q *sequence) compare(ctx context.Context) error {
	s, err := q.changed.settle(ctx, true)
	if err != nil {
		return err
	}
	if !s.ready {
		return fmt.Errorf("it was ready and isn't any more (%s)", s.why)
	}
	fresh, err := q.new(ctx, q.found.Spec, true)
	switch {
	case err != nil:
		return err
	case fresh.refused != nil:
		return fmt.Errorf("it is ready, and a new object of the same spec is refused: %w", fresh.refused)
	case !fresh.ready:
		return fmt.Errorf("it is ready, and a new object of the same spec isn't (%s)", fresh.why)
	case !slices.Equal(s.outside, fresh.outside):
		return fmt.Errorf("outside it isn't what a new object of the same spec gets: %s", difference(s.outside, fresh.outside))
	}
	return nil
}

// difference of what there is and what there should be.
func difference(is, should []string) string {
	return fmt.Sprintf("\n%s\nand should be:\n%s", indent(without(is, should)), indent(without(should, is)))
}

// new is what becomes of a new object with a spec, in a world of its own, which is empty again afterwards. Hopeful is for one that should
// become ready.
func (q *sequence) new(ctx context.Context, spec map[string]any, hopeful bool) (o outcome, _ error) {
	spec = maps.Clone(spec)
	for _, field := range q.Written {
		delete(spec, field)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return o, err
	}
	if o, ok := q.known[string(text)]; ok && (o.ready || !hopeful) {
		return o, nil
	}
	switch err := q.fresh.create(ctx, spec); {
	case isRefused(err):
		o.refused = err
	case err != nil:
		return o, fmt.Errorf("admission should allow or refuse it: %w", err)
	default:
		if hopeful {
			_, err = q.fresh.hope(ctx)
		}
		if err == nil {
			o.state, err = q.fresh.settle(ctx, true)
		}
		if err == nil {
			err = q.fresh.remove(ctx)
		}
		if err != nil {
			return o, fmt.Errorf("a new object: %w", err)
		}
	}
	q.known[string(text)] = o
	q.log("  as a new object: ready: %t (%s), refused: %v", o.ready, o.why, o.refused)
	return o, nil
}
