package graph_test

import (
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// A ledger from a backup of before both were made: net and leaf are strays. The net is found, what lies in it isn't.
func TestScope_sweepOfWhatLiesInAStray(t *testing.T) {
	t.Parallel()
	for name, inUse := range map[string]bool{"the service lets the net go": false, "the service keeps a net in use": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newPlot(t)
			f.inUse = inUse
			_, err := f.rounds(3, f.usual)
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.service.keys()).To(Equal([]string{leafKey, netKey}))
			f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
			owner, done := f.goes()
			if done {
				f.Expect(f.service.keys()).To(BeEmpty(), "the owner is gone, and this is left")
			}
			f.Expect(done).To(BeTrue(), "left: %v; %s", f.service.keys(), f.why(owner))
		})
	}
}

// A leaf lies in a net and in a site, which are two things that it comes after (or another owner's site). The ledger lacks the leaf.
func TestScope_sweepOfWhatLiesInTwo(t *testing.T) {
	t.Parallel()
	for name, outer := range map[string]bool{"both are in the ledger": false, "the site is another owner's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newPlot(t)
			f.within = []string{netKind, "site"}
			site := f.put("site")
			if outer {
				f.outer = func(string) graph.Scope { return graph.Scope{"site": site.id} }
			}
			want := func(g *graph.Graph, nets, leaves, sites *graph.Kind[thing]) {
				after := []graph.Ref{graph.Add(g, nets, f.want(netKey))}
				if !outer {
					w := f.want("site")
					w.Claim = graph.Use(site.id)
					after = append(after, graph.Add(g, sites, w))
				}
				graph.Add(g, leaves, f.leaf(leafKey, after...))
			}
			_, err := f.rounds(3, want)
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: "id-2", "site": site.id}))
			f.update(f.ledger(), func(l *ledgerv1.Ledger) {
				l.Spec.Entries = slices.DeleteFunc(l.Spec.Entries, func(e ledgerv1.Entry) bool { return e.Key == leafKey })
			})
			owner, done := f.goes()
			f.Expect(f.service.keys()).To(Equal([]string{""}), "only the site is left; done %v, %s", done, f.why(owner))
		})
	}
}

// In a net that is gone everything is 404, its list of leaves too.
func TestScope_listOfWhatIsGone(t *testing.T) {
	t.Parallel()
	t.Run("deletion", func(t *testing.T) {
		t.Parallel()
		f := newPlot(t)
		f.nested = true
		_, err := f.rounds(3, f.usual)
		f.Expect(err).NotTo(HaveOccurred())
		owner, done := f.goes()
		f.Expect(done).To(BeTrue(), "left: %v; %s", f.service.keys(), f.why(owner))
	})
	t.Run("pending", func(t *testing.T) {
		t.Parallel()
		f := newPlot(t)
		f.nested = true
		f.service.before = func(call string) error {
			if call == "create "+leafKey {
				return errors.New("connection reset")
			}
			return nil
		}
		_, _ = f.rounds(1, f.usual)
		f.Expect(f.ledger().Entry(leafKey).State).To(Equal(ledgerv1.Pending))
		f.service.before = nil
		delete(f.service.things, "id-1") // another client has deleted the net, it is made again
		owner, _ := f.rounds(6, f.usual)
		f.Expect(f.service.keys()).To(Equal([]string{leafKey, netKey}), f.why(owner))
	})
	t.Run("leaf gone with its net", func(t *testing.T) {
		t.Parallel()
		f := newPlot(t)
		f.nested = true
		_, err := f.rounds(3, f.usual)
		f.Expect(err).NotTo(HaveOccurred())
		clear(f.service.things)
		owner, _ := f.rounds(6, f.usual)
		f.Expect(f.service.keys()).To(Equal([]string{leafKey, netKey}), f.why(owner))
	})
}

// Another client has removed the scope, or half of it. The status says where the leaf lies; the other owner has moved on.
func TestScope_thatWasTakenAway(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]graph.Scope{"all of it": nil, "half of it": {netKind: "first"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newPlot(t)
			f.within = []string{netKind, "site"}
			net := "first"
			f.outer = func(string) graph.Scope { return graph.Scope{netKind: net, "site": "s"} }
			want := func(g *graph.Graph, _, leaves, _ *graph.Kind[thing]) { graph.Add(g, leaves, f.leaf(leafKey)) }
			_, err := f.rounds(3, want)
			f.Expect(err).NotTo(HaveOccurred())
			f.shown = []ledgerv1.OutsideID{{Kind: "leaf", ID: "id-1", Scope: graph.Scope{netKind: "first", "site": "s"}}}
			f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry(leafKey).Scope = left })
			net = "second"
			_, _ = f.rounds(3, want)
			f.Expect(f.service.keys()).To(Equal([]string{leafKey}), "in %v", f.in)
		})
	}
}

// The leaf comes after a net, and after another leaf, which lies in another net.
func TestScope_ofWhatAnotherLiesIn(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	_, err := f.rounds(3, func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
		a, b := graph.Add(g, nets, f.want("net/a")), graph.Add(g, nets, f.want("net/b"))
		first := graph.Add(g, leaves, f.leaf("leaf/a", a))
		graph.Add(g, leaves, f.leaf("leaf/b", b, first))
	})
	f.Expect(err).NotTo(HaveOccurred())
	l := f.ledger()
	f.Expect(l.Entry("leaf/b").Scope).To(Equal(graph.Scope{netKind: l.Entry("net/b").ID}), "net/a is %s", l.Entry("net/a").ID)
}

// The other owner moves on in the middle of a reconcile. What was intended is what is made.
func TestScope_isThatOfTheIntention(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		f := newPlot(t)
		asked := 0
		f.outer = func(string) graph.Scope {
			if asked++; asked > n {
				return graph.Scope{netKind: "second"}
			}
			return graph.Scope{netKind: "first"}
		}
		_, _ = f.rounds(1, func(g *graph.Graph, _, leaves, _ *graph.Kind[thing]) { graph.Add(g, leaves, f.leaf(leafKey)) })
		f.Expect(f.made).To(HaveLen(1))
		f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(f.made[0]), "after %d answers", n)
	}
}

// Two nets of the user's own. The first we may not read; in the second there is one of ours that an older ledger lacks.
func TestScope_refusedInOneScope(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	a, b := f.put("a"), f.put("b")
	f.in[a.id], f.in[b.id] = "", ""
	want := func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
		wa, wb := f.want("net/a"), f.want("net/b")
		wa.Claim, wb.Claim = graph.Use(a.id), graph.Use(b.id)
		graph.Add(g, nets, wa)
		graph.Add(g, leaves, f.leaf(leafKey, graph.Add(g, nets, wb)))
	}
	_, err := f.rounds(3, want)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.in["id-3"]).To(Equal(b.id))
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		l.Spec.Entries = slices.DeleteFunc(l.Spec.Entries, func(e ledgerv1.Entry) bool { return e.Key == leafKey })
	})
	f.refuses[a.id] = &fault.Error{Class: fault.Credentials, Op: "list leaves of net " + a.id, Err: errors.New("403")}
	owner, done := f.goes()
	f.Expect(f.service.things).NotTo(HaveKey("id-3"), "done %v, %s", done, f.why(owner))
}

// The spec names another net of the user's own. What is the user's own in there is what the spec means then.
func TestScope_useInAnotherNet(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	f.untagged = true
	a, b := f.put("a"), f.put("b")
	x, y := f.put("x"), f.put("x")
	f.in[x.id], f.in[y.id] = a.id, b.id
	net := a.id
	want := func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
		w := f.want(netKey)
		w.Claim = graph.Use(net)
		l := f.leaf(leafKey, graph.Add(g, nets, w))
		l.Claim = graph.UseOrCreate("x")
		graph.Add(g, leaves, l)
	}
	_, err := f.rounds(3, want)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().Entry(leafKey).ID).To(Equal(x.id))
	net = b.id
	owner, _ := f.rounds(4, want)
	f.Expect(f.ledger().Entry(netKey).ID).To(Equal(b.id))
	f.Expect(f.ledger().Entry(leafKey).ID).To(Equal(y.id), "scope %v; %s", f.ledger().Entry(leafKey).Scope, f.why(owner))
}

// A ledger from a backup of before the net was made is replaced by a seed: with another owner's ID, and what carries the first one is left.
func TestScope_seedInPlaceOfAnOlderLedger(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	_, err := f.rounds(3, f.usual)
	f.Expect(err).NotTo(HaveOccurred())
	before := f.ledger().Spec.OwnerID
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	nets, leaves, _ := f.kinds()
	theirs := f.put("theirs")
	f.Expect(f.engine().Seed(t.Context(), f.owner(), "", []string{"any"}, []graph.AnyKind{nets, leaves},
		ledgers.Resource{Key: "net/theirs", Kind: netKind, ID: theirs.id})).To(Succeed())
	f.Expect(f.ledger().Spec.OwnerID).To(Equal(before), "what carries %s is not found any more", before)
}

func TestScope_adoptOfAnotherKind(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	_, err := f.rounds(3, f.usual)
	f.Expect(err).NotTo(HaveOccurred())
	err = f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: netKey, Kind: "leaf", ID: "id-1", Own: true, Scope: graph.Scope{netKind: "id-9"}})
	f.Expect(err).To(HaveOccurred(), "%+v", f.ledger().Entry(netKey))
}

// The spec renames the net: the leaf stays where it was made, so the net that it lies in mustn't be deleted as long as
// the leaf exists.
func TestScope_netOfWhatIsWanted(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	key := "net/a"
	want := func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
		graph.Add(g, leaves, f.leaf(leafKey, graph.Add(g, nets, f.want(key))))
	}
	_, err := f.rounds(3, want)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: "id-1"}))
	key = "net/b"
	_, _ = f.rounds(3, want)
	f.Expect(f.ledger().Entry(leafKey)).To(And(HaveField("ID", "id-2"), HaveField("Scope", graph.Scope{netKind: "id-1"})))
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the leaf, which is wanted and Ready, lies in it")
}

// The scope was removed, and the net under the key that it comes after is another one by now: that is no proof that the leaf is gone.
func TestScope_isGuessed(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	a, b := f.put("a"), f.put("b")
	net := a.id
	want := func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
		w := f.want(netKey)
		w.Claim = graph.Use(net)
		graph.Add(g, leaves, f.leaf(leafKey, graph.Add(g, nets, w)))
	}
	_, err := f.rounds(3, want)
	f.Expect(err).NotTo(HaveOccurred())
	net = b.id
	_, err = f.rounds(3, want)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: a.id}))
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry(leafKey).Scope = nil })
	owner, done := f.goes()
	f.Expect(done).To(BeFalse())
	f.Expect(f.why(owner)).To(ContainSubstring("NoScope"))
}

// The status shows the leaf, and not in which net: that is in the ledger, which is an older one without the leaf. The status shows it as
// long as the graph names it.
func TestScope_shownWithoutAScope(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	_, err := f.rounds(3, f.usual)
	f.Expect(err).NotTo(HaveOccurred())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		l.Spec.Entries = slices.DeleteFunc(l.Spec.Entries, func(e ledgerv1.Entry) bool { return e.Key == leafKey })
	})
	f.shown = []ledgerv1.OutsideID{{Kind: netKind, ID: "id-1"}, {Kind: "leaf", ID: "id-2"}}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	var owner kindShowing
	done := false
	for range 12 {
		var g *graph.Graph
		owner, g, _ = f.openPlot()
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
		f.shown = slices.DeleteFunc(f.shown, func(o ledgerv1.OutsideID) bool { return !g.Names(o.Kind, o.ID) })
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(done).To(BeTrue(), "left outside: %v; shown: %v; %s", f.service.keys(), f.shown, f.why(owner))
}

// The plan of a deletion says what a deletion does, also of what lies in a stray.
func TestScope_planOfWhatLiesInAStray(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	_, err := f.rounds(3, f.usual)
	f.Expect(err).NotTo(HaveOccurred())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, g, _ := f.openPlot()
	var steps []string
	for _, s := range g.Plan(t.Context()) {
		steps = append(steps, s.Key+" "+string(s.Action))
	}
	f.Expect(steps).To(ConsistOf(leafKey+" delete", netKey+" delete"))
}
