package decide

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// As TestDecide_doesNotWaitForAClockThatWasAhead: without tags, the user's own waits for an attempt under another key.
func TestDecide_saysHowLongTheUsersOwnWaitsForAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	ahead := &metav1.Time{Time: epoch.Add(1000 * time.Hour)}
	w := Wish{
		Wanted: true, Key: "own", Kind: "thing", Claim: Claim{Uses: true, ID: "1", Title: "1"}, Settle: settled, Leads: epoch.Add(-100 * settled),
		Fresh:  ledgerv1.Entry{Kind: "thing", State: ledgerv1.Refused, Title: "1"},
		Ledger: map[string]*ledgerv1.Entry{"group": {Kind: "thing", State: ledgerv1.Pending, Token: "1", At: ahead}},
	}
	o := Thing{ID: "1", Phase: phases.Ready()}
	d := Next(w, nil, Sight{Began: epoch, ID: "1", Object: &o, Sought: map[string][]string{}}, epoch)
	if d.Verb == Wait && !strings.Contains(d.Phase.Message, "2026-02") {
		t.Errorf("it waits for six weeks, and says %q", d.Phase.Message)
	}
}
