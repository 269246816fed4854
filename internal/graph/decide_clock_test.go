package graph

import (
	"testing"
	"time"

	"github.com/bedplate/bedplate/internal/graph/phases"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecide_waitsForNoClockThatWasAhead(t *testing.T) {
	t.Parallel()
	ahead := &metav1.Time{Time: epoch.Add(1000 * time.Hour)}
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	w.updates, w.again = true, true
	o := thing{id: "1", tag: Tag{Owner: w.owner, Key: w.key}, phase: phases.Ready()}
	s := sight{began: epoch, id: "1", object: &o, compared: true, inEffect: false}
	e := entry{State: stateBound, ID: "1", Proven: "1", AppliedAt: ahead, InEffect: false}
	e.Kind, e.Condition, e.After = w.fresh.Kind, w.fresh.Condition, w.fresh.After
	d := decide(w, &e, s, epoch)
	t.Logf("%s %+v", d.verb, d.phase)
	if d.verb != change {
		t.Errorf("what the service may have undone is applied again in six weeks: %s", d.verb)
	}
	w = traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimNone)
	w.goneAfter = time.Minute
	e = entry{State: stateBound, ID: "1", Proven: "1", GoneAt: ahead, Kind: "thing"}
	d = decide(w, &e, sight{began: epoch, id: "1"}, epoch)
	t.Logf("%s %+v", d.verb, d.phase)
	if d.verb == wait {
		t.Errorf("a deletion waits for six weeks")
	}
}
