package orphans_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/orphans"
)

const (
	stagePart orphans.Stage = iota
	stageToy
	stageBox
)

// toy is in a box, and is called KEY-OWNER. A box carries its tag in a label.
type toy struct {
	id, name, box string
	owner         string
}

// shop is a service with toys. It refuses to delete a box with toys in it, and a toy with parts.
type shop struct{ boxes, toys, parts map[string]toy }

// child is a ConfigMap that toys are made for.
type child struct{ *corev1.ConfigMap }

func (child) GetConditions() []metav1.Condition      { return nil }
func (child) SetConditions([]metav1.Condition)       {}
func (child) OutsideIDs() (ids []ledgerv1.OutsideID) { return nil }

func (s *shop) String() string { return "shop" }

func (s *shop) ID() string { return "shop-1" }

func (s *shop) SiteID(_ context.Context, site string) (string, error) {
	return "", errors.New("there is no site " + site)
}

// kind has all that the kinds of toys have in common.
func (s *shop) kind(name string, all map[string]toy, tag func(*toy) graph.Tag, inUse func(id string) bool) *graph.Kind[toy] {
	return &graph.Kind[toy]{
		Name: name, ID: func(t *toy) string { return t.id }, Tag: tag,
		Get: func(_ context.Context, id string, _ graph.Scope) (*toy, error) {
			if t, ok := all[id]; ok {
				return &t, nil
			}
			return nil, &fault.Error{Class: fault.NotFound, Op: "get " + name}
		},
		Delete: func(_ context.Context, id string, _ graph.Scope) error {
			if inUse(id) {
				return &fault.Error{Class: fault.Busy, Op: "delete " + name}
			}
			delete(all, id)
			return nil
		},
	}
}

func (s *shop) Kinds() []orphans.AnyKind {
	list := func(all map[string]toy) func(context.Context, string) ([]toy, error) {
		return func(context.Context, string) ([]toy, error) {
			return slices.SortedFunc(maps.Values(all), func(a, b toy) int { return cmp.Compare(a.id, b.id) }), nil
		}
	}
	within := func(all map[string]toy) func(string) bool {
		return func(id string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(all)), func(t toy) bool { return t.box == id })
		}
	}
	read := func(t *toy) orphans.Item { return orphans.Item{Name: t.name, Uses: []string{t.box}} }
	inName := func(t *toy) graph.Tag {
		key, owner, _ := strings.Cut(t.name, "-")
		return graph.Tag{Owner: owner, Key: key}
	}
	inLabel := func(t *toy) graph.Tag { return graph.Tag{Owner: t.owner, Key: "box"} }
	return []orphans.AnyKind{
		orphans.Kind[toy]{
			Kind:  s.kind("spare wheel", s.parts, nil, func(string) bool { return false }),
			Stage: stagePart, Part: "wheel", List: list(s.parts), Read: read,
		},
		orphans.Kind[toy]{Kind: s.kind("toy", s.toys, inName, within(s.parts)), Stage: stageToy, List: list(s.toys), Read: read},
		orphans.Kind[toy]{
			Kind: s.kind("box", s.boxes, inLabel, within(s.toys)), Stage: stageBox, Labelled: true, List: list(s.boxes), Read: read,
		},
	}
}

// system has children for owners, whose Secrets lead to the shop.
func (s *shop) system() orphans.System {
	return orphans.System{
		Owners: []*orphans.OwnerKind{{
			Name: "ConfigMap", MayHave: func(orphans.Stage) bool { return true },
			List: func(ctx context.Context, c client.Reader, all orphans.Ledgers) ([]orphans.Holder, error) {
				list := &corev1.ConfigMapList{}
				err := c.List(ctx, list)
				return orphans.Holders(list.Items, func(o *corev1.ConfigMap) (orphans.Holder, bool) {
					secret := types.NamespacedName{Namespace: o.Namespace, Name: "login"}
					return orphans.Holder{Owner: child{o}, Spec: o.Data, Secret: secret}, all.Of("ConfigMap", o) != nil
				}), err
			},
		}},
		Connect: func(orphans.Access) func(*corev1.Secret) (orphans.Account, error) {
			return func(*corev1.Secret) (orphans.Account, error) { return s, nil }
		},
	}
}

const living, gone = "aaaaaaaaaaaa", "bbbbbbbbbbbb"

// management is a cluster with a child that lives, and the ledger of one that is gone.
func management(g Gomega) client.Client {
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(scheme)).To(Succeed())
	ledger := func(name, owner string, ids ...string) *ledgerv1.Ledger {
		l := &ledgerv1.Ledger{
			ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: ledgerv1.Name("ConfigMap", name), Finalizers: []string{ledgerv1.Finalizer}},
			Spec: ledgerv1.LedgerSpec{
				Owner: ledgerv1.Owner{Kind: "ConfigMap", Name: name}, OwnerID: owner, Home: "here", Credentials: []string{"red/login"},
			},
		}
		for _, id := range ids {
			key, _, _ := strings.Cut(id, "-")
			l.Spec.Entries = append(l.Spec.Entries, ledgerv1.Entry{Key: key, Kind: key, ID: id, State: ledgerv1.Bound})
		}
		return l
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "here"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "login"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "lives"}},
		ledger("lives", living, "box-1", "toy-1"), ledger("gone", gone, "box-2", "toy-2"),
	).Build()
}

func TestFind_andDeleteWhatAToySystemHasLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &shop{
		boxes: map[string]toy{"box-1": {id: "box-1", owner: living}, "box-2": {id: "box-2", owner: gone}, "box-3": {id: "box-3"}},
		toys: map[string]toy{
			"toy-1": {id: "toy-1", name: "toy-" + living, box: "box-1"},
			"toy-2": {id: "toy-2", name: "toy-" + gone, box: "box-2"},
			"toy-3": {id: "toy-3", name: "bear", box: "box-3"},
			"toy-4": {id: "toy-4", name: "toy-cccccccccccc", box: "box-3"},
		},
		parts: map[string]toy{"part-1": {id: "part-1", box: "toy-1"}, "part-2": {id: "part-2", box: "toy-2"}},
	}
	c := management(g)
	find := func(owners ...string) *orphans.Report {
		report, err := orphans.Find(t.Context(), c, s.system(), orphans.Options{Owners: owners})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(report.Incomplete).To(BeEmpty())
		return report
	}
	ids := func(all []*orphans.Orphan) (ids []string) {
		for _, o := range all {
			ids = append(ids, o.ID)
		}
		return ids
	}
	report := find()
	g.Expect(ids(report.Orphans)).To(Equal([]string{"part-2", "toy-2", "box-2"}))
	g.Expect(report.Orphans[0].Why).To(Equal("a wheel of the orphaned toy toy-" + gone + " (toy-2)"))
	g.Expect(ids(report.LeftOut)).To(ConsistOf("toy-4"), "its name alone proves nothing")

	rounds := 0
	for ; rounds < 10 && len(report.Orphans) > 0; rounds++ {
		report = find(gone)
		g.Expect(report.Delete(t.Context(), c)).To(Succeed())
	}
	g.Expect(rounds).To(Equal(4), "one for each stage, and one that finds nothing")
	g.Expect(s.boxes).To(And(HaveLen(2), HaveKey("box-1"), HaveKey("box-3")))
	g.Expect(s.toys).To(And(HaveLen(3), Not(HaveKey("toy-2"))))
	g.Expect(s.parts).To(HaveLen(1))
	left := &ledgerv1.LedgerList{}
	g.Expect(c.List(t.Context(), left)).To(Succeed())
	g.Expect(left.Items).To(ConsistOf(HaveField("Spec.OwnerID", living)))
}

func TestFind_namesTheSiteThatIsUnknown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	report, err := orphans.Find(t.Context(), management(g), (&shop{}).system(), orphans.Options{Sites: []string{"attic"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Orphans).To(BeEmpty())
	g.Expect(report.Incomplete).To(ConsistOf("secret red/login: there is no site attic: what is there is left out"))
}

// At some services IDs are unique only within a kind. What lies in an orphan is seen, whatever has the same ID.
func TestFind_twoKindsMayHaveTheSameID(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &shop{
		boxes: map[string]toy{"one": {id: "one", owner: gone}},
		toys:  map[string]toy{"one": {id: "one", name: "toy-" + gone, box: "one"}},
		parts: map[string]toy{},
	}
	c := management(g)
	find := func() *orphans.Report {
		report, err := orphans.Find(t.Context(), c, s.system(), orphans.Options{Owners: []string{gone}})
		g.Expect(err).NotTo(HaveOccurred())
		return report
	}
	g.Expect(find().Orphans).To(ConsistOf(HaveField("Kind", "toy"), HaveField("Kind", "box")))
	for range 2 {
		g.Expect(find().Delete(t.Context(), c)).To(Succeed())
	}
	g.Expect(find().Orphans).To(BeEmpty())
}
