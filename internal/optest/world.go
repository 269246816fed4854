package optest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// World is where one object lives: a namespace of a real API server, a manager that watches it, and a simulated service.
type World struct {
	// Client of the API server, which runs the webhooks too.
	Client client.Client
	// Object is the example: it isn't created yet, but all is there that it needs.
	Object client.Object
	// Look at what exists at the service, each as a text that is the same in every world: see Names. The status of the object, if there is
	// one, may be part of it. Moving reports whether the service is still at work.
	Look func(status map[string]any) (outside []string, moving bool)
	// Calls of the service so far, and reconciles of the manager.
	Calls, Reconciles func() int
	// Poll is the manager's poll interval.
	Poll time.Duration
	// CallsAtRest and ReconcilesAtRest bound both in each poll interval while nothing changes.
	CallsAtRest, ReconcilesAtRest float64
	// Judge has the conditions and the status of an object that has none itself: it exists already, and uses the object.
	Judge client.Object
	// Conditions is where the object has them; by default in status.conditions. Condition says whether it matches its spec; default Ready.
	Conditions []string
	Condition  string
}

// lived is a world with what the suite knows of it.
type lived struct {
	*World
	// before is what existed outside before the object did.
	before []string
	total  *tally
}

func (w *World) live(total *tally) *lived {
	before, _ := w.Look(nil)
	return &lived{World: w, before: sorted(before), total: total}
}

// state is what became of a spec.
type state struct {
	ready bool
	// why it isn't ready.
	why string
	// outside is what exists for the object, and moving says that it is on its way to another state.
	outside []string
	moving  bool
}

const (
	// patience is how long an object may take until nothing changes any more.
	patience = 3 * time.Minute // where others have the CPUs
	// rest is how many poll intervals nothing may change before that counts as the end; brief is for an object that says that it is ready.
	// Meanwhile there are as many looks, and at least so many reconciles: both take longer where others have the CPUs. An object that isn't
	// reconciled is waited for so many times as long.
	rest, brief     = 16, 4
	leastReconciles = 3
	unreconciled    = 3
	// again is how often an object may look as if it had settled while it waits for a slow retry, and becomes ready all the same.
	again       = 3
	callTimeout = time.Minute
)

// create the object with a spec.
func (w *lived) create(ctx context.Context, spec map[string]any) error {
	object, err := w.example()
	if err != nil {
		return err
	}
	object.Object["spec"] = runtime.DeepCopyJSONValue(spec)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return w.Client.Create(ctx, object)
}

// example is the object as JSON.
func (w *lived) example() (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.Object)
	if err != nil {
		return nil, fmt.Errorf("convert the example: %w", err)
	}
	object := &unstructured.Unstructured{Object: fields}
	kind, err := apiutil.GVKForObject(w.Object, w.Client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find the kind of the example: %w", err)
	}
	object.SetGroupVersionKind(kind)
	delete(fields, "status")
	return object, nil
}

// judgement is the object whose status says what has become of the object.
func (w *lived) judgement(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if w.Judge == nil {
		return object, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(w.Judge), w.Judge); err != nil {
		return nil, fmt.Errorf("read who judges the object: %w", err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.Judge)
	return &unstructured.Unstructured{Object: fields}, err
}

// read the object.
func (w *lived) read(ctx context.Context) (*unstructured.Unstructured, error) {
	object, err := w.example()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return object, w.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// write a spec, which leaves alone what the manager has written into those fields that the spec lacks.
func (w *lived) write(ctx context.Context, spec map[string]any, written []string) error {
	for {
		object, err := w.read(ctx)
		if err != nil {
			return err
		}
		spec := runtime.DeepCopyJSON(spec)
		for _, field := range written {
			now, has, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", field)
			if _, given := spec[field]; has && !given {
				spec[field] = now
			}
		}
		object.Object["spec"] = spec
		writing, cancel := context.WithTimeout(ctx, callTimeout)
		err = w.Client.Update(writing, object)
		cancel()
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// settle waits until nothing changes any more, neither here nor outside. An error means that this takes too long, or that the
// manager works without end. Long is for an object that is ready: it is watched as long as one that isn't.
func (w *lived) settle(ctx context.Context, long bool) (s state, _ error) {
	last, changed := "", time.Now()
	var seen, calls, reconciles int
	for began := time.Now(); ; {
		object, err := w.read(ctx)
		if err != nil {
			return s, fmt.Errorf("read the object: %w", err)
		}
		if object, err = w.judgement(ctx, object); err != nil {
			return s, err
		}
		s = w.stateOf(object)
		now := s.text(object)
		if now != last || s.moving {
			last, changed, seen, calls, reconciles = now, time.Now(), 0, w.Calls(), w.Reconciles()
		}
		seen++
		quiet, worked := time.Since(changed), w.Reconciles()-reconciles
		switch {
		case s.ready && !long && w.Judge == nil && quiet >= brief*w.Poll && seen > brief:
			return s, nil
		case quiet >= rest*w.Poll && seen > rest && (worked >= leastReconciles && w.judged(object) || quiet >= unreconciled*rest*w.Poll):
			return s, w.atRest(w.Calls()-calls, worked, quiet)
		case time.Since(began) > patience:
			return s, fmt.Errorf("after %s it still changes, last %s ago, %d reconciles and %d calls ago, to: %s", patience,
				quiet.Round(time.Millisecond), worked, w.Calls()-calls, s.text(object))
		}
		if err := pause(ctx, w.Poll); err != nil {
			return s, err
		}
	}
}

// hope settles an object that should become ready.
func (w *lived) hope(ctx context.Context) (s state, err error) {
	for range again {
		if s, err = w.settle(ctx, false); s.ready || err != nil {
			break
		}
	}
	return s, err
}

// atRest is an error if more was done while nothing changed than is needed to see whether something does.
func (w *lived) atRest(calls, reconciles int, quiet time.Duration) error {
	polls := quiet.Seconds() / w.Poll.Seconds()
	w.total.atRest(float64(calls)/polls, float64(reconciles)/polls)
	if most := w.CallsAtRest * polls; float64(calls) > most {
		return fmt.Errorf("at rest there are %d calls in %.0f poll intervals, and should be %.0f at most", calls, polls, most)
	}
	if most := w.ReconcilesAtRest * polls; float64(reconciles) > most {
		return fmt.Errorf("at rest there are %d reconciles in %.0f poll intervals, and should be %.0f at most", reconciles, polls, most)
	}
	return nil
}

func (w *lived) stateOf(object *unstructured.Unstructured) state {
	var s state
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	s.outside, s.moving = w.look(status)
	ready := meta.FindStatusCondition(w.conditions(object), cmp.Or(w.Condition, "Ready"))
	s.ready = ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == object.GetGeneration()
	if ready != nil && !s.ready {
		s.why = ready.Reason + ": " + ready.Message
	}
	return s
}

// look at what exists for the object, and at what doesn't any more that existed before: that was the user's own.
func (w *lived) look(status map[string]any) (outside []string, moving bool) {
	all, moving := w.Look(status)
	all = sorted(all)
	outside = without(all, w.before)
	for _, text := range without(w.before, all) {
		outside = append(outside, "(not any more) "+text)
	}
	return outside, moving
}

// judged reports whether a condition is about the spec as it is now.
func (w *lived) judged(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(w.conditions(object), func(c metav1.Condition) bool { return c.ObservedGeneration == object.GetGeneration() })
}

func (w *lived) conditions(object *unstructured.Unstructured) (all []metav1.Condition) {
	path := w.Conditions
	if path == nil {
		path = []string{"status", "conditions"}
	}
	found, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	data, err := json.Marshal(found)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil
	}
	return all
}

// remove the object; whatever was made for it has to be gone with it.
func (w *lived) remove(ctx context.Context) error {
	object, err := w.example()
	if err != nil {
		return err
	}
	if err := client.IgnoreNotFound(w.Client.Delete(ctx, object)); err != nil {
		return fmt.Errorf("delete the object: %w", err)
	}
	for began := time.Now(); ; {
		object, err := w.read(ctx)
		switch left, moving := w.look(nil); {
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("read the object: %w", err)
		case err != nil && len(left) == 0:
			return nil
		case err != nil && !moving:
			return fmt.Errorf("it is gone, and outside it isn't as it was before:\n%s", indent(left))
		case time.Since(began) > patience:
			return fmt.Errorf("%s after its deletion it is still there: %s", patience, w.stateOf(object).text(object))
		}
		if err := pause(ctx, w.Poll); err != nil {
			return err
		}
	}
}

func (s state) text(object *unstructured.Unstructured) string {
	if s.ready {
		return "ready, outside:\n" + indent(s.outside)
	}
	text, _ := yaml.Marshal(object.Object["status"])
	return "not ready (" + s.why + "), outside:\n" + indent(s.outside) + "\n  status:\n" + indent(strings.Split(string(text), "\n"))
}

func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("the test has ended")
	case <-time.After(duration):
		return nil
	}
}

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

// without removes from a sorted list what another one has, each as often as it is there.
func without(all, others []string) (left []string) {
	others = slices.Clone(others)
	for _, text := range all {
		if i := slices.Index(others, text); i >= 0 {
			others = slices.Delete(others, i, i+1)
		} else {
			left = append(left, text)
		}
	}
	return left
}

func indent(lines []string) string { return "    " + strings.Join(lines, "\n    ") }
