package decide

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// A clock that was ahead when something was written must not hold up an owner until that time has come: neither what it makes, nor its
// deletion. The process that wrote it is gone, and this one has led for long.
func TestDecide_doesNotWaitForAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	ahead := &metav1.Time{Time: epoch.Add(1000 * time.Hour)}
	began := Sight{Began: epoch, Listed: true, Twice: true, Turn: TurnGranted}
	wanted := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	gone := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimNone)
	wanted.Leads, gone.Leads = epoch.Add(-100*settled), epoch.Add(-100*settled)
	for what, row := range map[string]struct {
		wish  Wish
		entry ledgerv1.Entry
		verb  Verb
	}{
		"a refusal": {wanted, ledgerv1.Entry{State: ledgerv1.Refused, At: ahead, Refusal: string(fault.Quota), Message: "nothing left: ask for more"}, Prepare},
	} {
		if d := Next(row.wish, &row.entry, began, epoch); d.Verb != row.verb {
			t.Errorf("%s: %q (%s), not %q", what, d.Verb, d.Phase.Message, row.verb)
		}
	}
	for what, w := range map[string]Wish{"an attempt": wanted, "an attempt of an owner that is deleted": gone} {
		d := Next(w, &ledgerv1.Entry{Kind: "thing", State: ledgerv1.Pending, Token: "1", At: ahead}, began, epoch)
		if d.Verb == Wait && !strings.Contains(d.Phase.Message, "2026-02") {
			t.Errorf("%s: it waits for six weeks, and says %q", what, d.Phase.Message)
		}
	}
}
