// Package optest does with the objects of a system what users do with them, after Acto (Gu et al., SOSP '23): from the schema of a
// kind and an example it generates operations, in which fields are set, changed, taken out, made invalid and put back. It compares what
// becomes of an object with what becomes of a new one that has the same spec.
package optest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/soaktest"
)

const (
	// durationVariable says how long a suite continues, such as 1h; without it it runs sampled sequences.
	durationVariable = "BEDPLATE_OPERATIONS"
	sampled          = 1
	// longestSequence is how many steps that admission allows a sequence has at most.
	longestSequence = 6
)

// Suite tries the operations on one kind.
type Suite struct {
	// New makes a world. The suite makes several, for objects that must not meet.
	New func(t *testing.T) *World
	// Values are good ones by field, which the schema can't tell: what exists outside, or what only a rule checks. The field of an
	// element is "subnets[].cidr", of a map's value "labels.*".
	Values map[string][]any
	// Except are fields that no operation writes, nor what is in them, such as one that keeps the object from being deleted.
	Except []string
	// Parts are the schemas of parts of the spec that the API server doesn't check, by field: a webhook does.
	Parts map[string]*apiextensionsv1.JSONSchemaProps
	// Patient: no step comes before the example is ready. For a kind that loses what is changed earlier, as long as it does.
	Patient bool
	// Fixed are the reasons with which an object says that a field can't be changed: admission refuses that only when what was created is
	// in the status. Then a new object of the same spec may be ready, and the way back has to heal it.
	Fixed []string
	// Written are the fields that the manager writes into the spec: a new object begins without them.
	Written []string
}

// Run tries sequences of operations. Each finding is an error of the test.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	_, seed := soaktest.Options(t, time.Second)
	duration := time.Duration(0)
	if text := os.Getenv(durationVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("read %s: %v", durationVariable, err)
		}
	}
	total, began, seeds := &tally{}, time.Now(), rand.New(rand.NewPCG(seed, 0))
	for n := 0; time.Since(began) < duration || duration == 0 && n < sampled; {
		t.Run(fmt.Sprintf("worlds from seed %d", seed), func(t *testing.T) {
			r := s.start(t, total)
			for more := true; more; more = time.Since(began) < duration || duration == 0 && n < sampled {
				found := r.sequence(t.Context(), seed)
				n, seed = n+1, seeds.Uint64()
				if found != nil { // the worlds aren't what they were
					t.Error(found)
					return
				}
			}
		})
	}
	t.Log(total)
}

// Find runs sequences until the first finding, and returns that; nil if there is none in so many. It is for tests of the suite, and of
// bugs made on purpose.
func (s Suite) Find(t *testing.T, seed uint64, sequences int) error {
	t.Helper()
	r, seeds := s.start(t, &tally{}), rand.New(rand.NewPCG(seed, 0))
	for range sequences {
		if found := r.sequence(t.Context(), seed); found != nil {
			return found
		}
		seed = seeds.Uint64()
	}
	return nil
}

// run is two worlds: in one an object is changed, in the other there are new ones to compare with.
type run struct {
	Suite
	log            func(format string, args ...any)
	schema         *schema
	changed, fresh *lived
	total          *tally
	panics         float64
	// known is what became of new objects, by spec.
	known map[string]outcome
}

// outcome is what becomes of a new object.
type outcome struct {
	state
	// refused is what admission said.
	refused error
}

func (s Suite) start(t *testing.T, total *tally) *run {
	t.Helper()
	r := &run{
		Suite: s, log: func(string, ...any) {}, changed: s.New(t).live(total), fresh: s.New(t).live(total), total: total,
		panics: panics(), known: map[string]outcome{},
	}
	if testing.Verbose() {
		r.log = t.Logf
	}
	var err error
	if r.schema, err = specSchema(t.Context(), r.changed.Client, r.changed.Object); err != nil {
		t.Fatal(err)
	}
	for field, part := range s.Parts {
		*r.schema = with(*r.schema, strings.Split(field, "."), part)
	}
	total.of(r.schema, "")
	return r
}

// Finding is what is wrong, and how it came to that.
type Finding struct {
	Seed uint64
	// Steps that admission allowed, in their order, and the last one that it was asked for.
	Steps []string
	// Spec that the object had in the end.
	Spec map[string]any
	// Err is what is wrong.
	Err error
}

// Error has all that is needed to see it again.
func (f *Finding) Error() string {
	spec, _ := yaml.Marshal(f.Spec)
	return fmt.Sprintf("%v\nsteps:\n%s\nspec:\n%s\nto see it again: BEDPLATE_SEED=%d", f.Err, indent(f.Steps),
		indent(strings.Split(strings.TrimSpace(string(spec)), "\n")), f.Seed)
}

func (f *Finding) Unwrap() error { return f.Err }

// sequence runs the sequence of a seed. What it returns is a Finding or nil.
func (r *run) sequence(ctx context.Context, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, seed))
	q := &sequence{run: r, values: values{random: random, known: r.Values, except: r.Except}, found: &Finding{Seed: seed}}
	err := q.all(ctx, 1+random.IntN(longestSequence))
	if err == nil {
		err = r.panicked()
	}
	r.panics = panics()
	r.total.add(q.count)
	if err != nil {
		q.found.Err = err
		return q.found
	}
	return nil
}

// panicked is an error if reconciles have.
func (r *run) panicked() error {
	if now := panics(); now > r.panics {
		return fmt.Errorf("%.0f reconciles have panicked: see the log", now-r.panics)
	}
	return nil
}
