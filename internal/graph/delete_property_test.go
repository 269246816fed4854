package graph_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// Whatever has happened before, an older ledger that was put back and a write that failed among it: a deletion ends, deletes all that was
// created, and nothing of the user's own.
func TestDelete_takesAwayAllThatWasMade(t *testing.T) {
	t.Parallel()
	_, seed := soaktest.Options(t, time.Second)
	wrong := 0
	for n := range uint64(2 * pasts) {
		p := newPast(t, seed, n)
		var saved []ledgerv1.LedgerSpec
		var shown []string
		shows := p.random.IntN(2) == 0
		for range 1 + p.random.IntN(12) {
			switch l := p.ledger(); {
			case p.random.IntN(6) == 0 && len(saved) > 0 && l != nil && l.Status.Pending == 0:
				l.Spec = saved[p.random.IntN(len(saved))]
				p.Expect(p.client.Update(t.Context(), l)).To(Succeed())
				p.told = append(p.told, "an older ledger is put back")
				continue
			case p.random.IntN(8) == 0:
				left := p.random.IntN(3)
				p.write = func() error {
					if left--; left < 0 {
						return nil
					}
					return errors.New("connection reset")
				}
				p.told = append(p.told, "writes fail")
			}
			p.happen()
			p.write = nil
			if l := p.ledger(); l != nil {
				saved, shown = append(saved, *l.Spec.DeepCopy()), nil
				for _, e := range l.Spec.Entries {
					if e.State == ledgerv1.Bound && !e.Foreign {
						shown = append(shown, e.ID)
					}
				}
			}
		}
		if !shows {
			shown = nil
		}
		for range p.random.IntN(2) * 6 {
			p.round()
			p.clock.Step(settle + 10*poll)
			p.service.finish()
		}
		if two := slices.DeleteFunc(p.service.keys(), func(key string) bool { return key == "" }); len(two) != len(slices.Compact(slices.Clone(two))) {
			t.Errorf("seed %d, past %d: there are %v\nhappened %s", seed, n, two, strings.Join(p.told, ", "))
		}
		if left := p.deleted(shown, rand.New(rand.NewPCG(seed, n))); left != "" {
			if wrong++; wrong <= 3 {
				t.Errorf("seed %d, past %d: %s\nhappened %s", seed, n, left, strings.Join(p.told, ", "))
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d are wrong", wrong, 2*pasts)
	}
}

// deleted says what is wrong after a deletion; nothing if all is well.
func (p *past) deleted(shown []string, random *rand.Rand) (wrong string) {
	defer func() {
		if r := recover(); r != nil {
			wrong = "panic"
		}
	}()
	ids := map[string]bool{}
	for _, o := range p.theirs {
		ids[o.id] = p.service.things[o.id] != nil
	}
	p.Expect(p.client.Delete(p.t.Context(), p.owner())).To(Succeed())
	for range 20 {
		if random.IntN(4) == 0 {
			failed := false
			p.write = func() error {
				if failed {
					return nil
				}
				failed = true
				return errors.New("connection reset")
			}
		}
		g, err := p.engine().New(p.t.Context(), showing{p.owner(), shown}, []string{"any"}, p.service.kind())
		if err == nil {
			_, _ = g.DeleteAndRelease(p.t.Context(), finalizer)
		}
		p.write = nil
		p.clock.Step(settle + 10*poll)
		p.service.finish()
		if apierrors.IsNotFound(p.client.Get(p.t.Context(), p.name, &bmmv1.NvidiaBMMCluster{})) {
			keys := slices.DeleteFunc(p.service.keys(), func(key string) bool { return key == "" })
			for id, there := range ids {
				if there && p.service.things[id] == nil {
					return "the user's own is gone"
				}
			}
			if len(keys) > 0 {
				return "left: " + strings.Join(keys, ", ")
			}
			return ""
		}
	}
	return "the owner isn't released"
}

var _ graph.Owner = showing{}
