package graph

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
)

// A clock that was ahead when something was written must not hold up an owner until that time has come: neither what it makes, nor its
// deletion. The process that wrote it is gone, and this one has led for long.
func TestDecide_doesNotWaitForAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	ahead := &metav1.Time{Time: epoch.Add(1000 * time.Hour)}
	began := sight{began: epoch, listed: true, turn: turnGranted}
	wanted := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	gone := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimNone)
	wanted.leads, gone.leads = epoch.Add(-100*settled), epoch.Add(-100*settled)
	for what, row := range map[string]struct {
		wish  wish
		entry entry
		verb  verb
	}{
		"a refusal": {wanted, entry{State: stateRefused, At: ahead, Refusal: string(fault.Quota), Message: "nothing left: ask for more"}, prepare},
	} {
		if d := decide(row.wish, &row.entry, began, epoch); d.verb != row.verb {
			t.Errorf("%s: %q (%s), not %q", what, d.verb, d.phase.Message, row.verb)
		}
	}
	for what, w := range map[string]wish{"an attempt": wanted, "an attempt of an owner that is deleted": gone} {
		d := decide(w, &entry{Kind: "thing", State: statePending, Token: "1", At: ahead}, began, epoch)
		if d.verb == wait && !strings.Contains(d.phase.Message, "2026-02") {
			t.Errorf("%s: it waits for six weeks, and says %q", what, d.phase.Message)
		}
	}
}
