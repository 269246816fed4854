package decide

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func TestDecide_waitsForNoClockThatWasAhead(t *testing.T) {
	t.Parallel()
	ahead := &metav1.Time{Time: epoch.Add(1000 * time.Hour)}
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	w.Updates, w.Again = true, true
	o := Thing{ID: "1", Tag: Tag{Owner: w.Owner, Key: w.Key}, Phase: phases.Ready()}
	s := Sight{Began: epoch, ID: "1", Object: &o, Compared: true, InEffect: false}
	e := ledgerv1.Entry{State: ledgerv1.Bound, ID: "1", Proven: "1", AppliedAt: ahead, InEffect: false}
	e.Kind, e.Condition, e.After = w.Fresh.Kind, w.Fresh.Condition, w.Fresh.After
	d := Next(w, &e, s, epoch)
	t.Logf("%s %+v", d.Verb, d.Phase)
	if d.Verb != Apply {
		t.Errorf("what the service may have undone is applied again in six weeks: %s", d.Verb)
	}
	w = traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimNone)
	w.GoneAfter = time.Minute
	e = ledgerv1.Entry{State: ledgerv1.Bound, ID: "1", Proven: "1", GoneAt: ahead, Kind: "thing"}
	d = Next(w, &e, Sight{Began: epoch, ID: "1"}, epoch)
	t.Logf("%s %+v", d.Verb, d.Phase)
	if d.Verb == Wait {
		t.Errorf("a deletion waits for six weeks")
	}
}
