package orphans_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/orphans"
)

// untagged is a shop whose toys carry nothing: only ledgers know whose they are.
type untagged struct{ *shop }

func (s untagged) Kinds() []orphans.AnyKind {
	read := func(t *toy) orphans.Item { return orphans.Item{Name: t.name, Uses: []string{t.box}} }
	kind := func(name string, all map[string]toy, stage orphans.Stage) orphans.AnyKind {
		return orphans.Kind[toy]{Kind: s.kind(name, all, nil, func(string) bool { return false }), Stage: stage, Read: read}
	}
	return []orphans.AnyKind{kind("toy", s.toys, stageToy), kind("box", s.boxes, stageBox)}
}

func connectTo(a orphans.Account) func(orphans.Access) func(*corev1.Secret) (orphans.Account, error) {
	return func(orphans.Access) func(*corev1.Secret) (orphans.Account, error) {
		return func(*corev1.Secret) (orphans.Account, error) { return a, nil }
	}
}

func TestFind_whatHasNoTagsIsAnOrphanByALedgerThatIsLeftOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := untagged{&shop{
		boxes: map[string]toy{"box-1": {id: "box-1"}, "box-2": {id: "box-2"}, "box-3": {id: "box-3"}},
		toys:  map[string]toy{"toy-1": {id: "toy-1", box: "box-1"}, "toy-2": {id: "toy-2", box: "box-2"}, "toy-3": {id: "toy-3", box: "box-2"}},
	}}
	c := management(g)
	system := s.system()
	system.Connect = connectTo(s)
	find := func() *orphans.Report {
		report, err := orphans.Find(t.Context(), c, system, orphans.Options{Owners: []string{gone}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(report.Incomplete).To(BeEmpty())
		return report
	}
	report := find()
	var ids []string
	for _, o := range report.Orphans {
		ids = append(ids, o.Owner+" "+o.Key+" "+o.ID+": "+o.Why)
	}
	const why = ": ConfigMap red/gone is gone, and only its ledger is left"
	g.Expect(ids).To(Equal([]string{gone + " toy toy-2" + why, gone + " box box-2" + why}), "neither what lives has, nor what no ledger names")
	g.Expect(report.Delete(t.Context(), c)).To(Succeed())
	g.Expect(s.toys).NotTo(HaveKey("toy-2"))
	g.Expect(s.boxes).To(HaveKey("box-2"), "after what lies in it")
	g.Expect(find().Delete(t.Context(), c)).To(Succeed())
	g.Expect(s.boxes).NotTo(HaveKey("box-2"))
	g.Expect(find().Orphans).To(BeEmpty())
	g.Expect(s.toys).To(And(HaveKey("toy-1"), HaveKey("toy-3")))
}

func TestFind_whatHasNoTagsAndAnObjectUsesIsSpared(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := untagged{&shop{boxes: map[string]toy{"box-2": {id: "box-2"}}, toys: map[string]toy{}}}
	c := management(g)
	user := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "lives"}, Data: map[string]string{"box": "box-2"}}
	g.Expect(c.Update(t.Context(), user)).To(Succeed())
	system := s.system()
	system.Connect = connectTo(s)
	report, err := orphans.Find(t.Context(), c, system, orphans.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Orphans).To(BeEmpty())
	g.Expect(report.LeftOut).To(ConsistOf(And(HaveField("ID", "box-2"), HaveField("Why", "ConfigMap red/lives uses it"))))
}

// With credentials of another account all looks gone: the ledger that is left must stay.
func TestFind_saysWhichLedgerIsOfAnotherAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := untagged{&shop{}}
	c := management(g)
	left := &ledgerv1.Ledger{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: ledgerv1.Name("ConfigMap", "gone")}}
	find := func(account string) *orphans.Report {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(left), left)).To(Succeed())
		left.Spec.Account = account
		g.Expect(c.Update(t.Context(), left)).To(Succeed())
		system := s.system()
		system.Connect = connectTo(s)
		report, err := orphans.Find(t.Context(), c, system, orphans.Options{Owners: []string{gone}})
		g.Expect(err).NotTo(HaveOccurred())
		return report
	}
	report := find("shop-2")
	g.Expect(report.Incomplete).To(ConsistOf("ledger red/configmap-gone: what it names is in account shop-2, and secret red/login leads to " +
		"account shop-1: what is there is left out"))
	g.Expect(report.Delete(t.Context(), c)).To(Succeed())
	report = find("shop-1")
	g.Expect(report.Incomplete).To(BeEmpty())
	g.Expect(report.Delete(t.Context(), c)).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(left), left)).To(MatchError(ContainSubstring("not found")))
}
