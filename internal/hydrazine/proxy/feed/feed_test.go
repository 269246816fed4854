package feed_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/hydrazine/proxy/feed"
)

const (
	soon = time.Millisecond // until a bookmark
	long = time.Minute
)

// object of an owner at a version.
func object(name, owner string, version uint64) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"owner": owner}, ResourceVersion: strconv.FormatUint(version, 10),
	}}
}

type fixture struct {
	*WithT
	*feed.Feed[string]
	t *testing.T
}

// newFeed has been filled at version 10.
func newFeed(t *testing.T, objects ...any) *fixture {
	t.Helper()
	return newFeedWith(t, feed.Config{Remember: 4, RememberBytes: 1000, Backlog: 3}, objects...)
}

// newFeedWith has objects of 10 bytes each.
func newFeedWith(t *testing.T, config feed.Config, objects ...any) *fixture {
	t.Helper()
	f := &fixture{NewWithT(t), feed.New(config, func(o client.Object) *feed.Item[string] {
		version, _ := feed.Version(o.GetResourceVersion())
		return &feed.Item[string]{
			Owner: o.GetLabels()["owner"], Name: o.GetName(), Version: version, Bytes: 10, Value: o.GetResourceVersion(),
		}
	}), t}
	f.Expect(f.Replace(objects, "10")).To(Succeed())
	return f
}

func (f *fixture) subscribe(filter feed.Filter, after uint64) *feed.Subscription[string] {
	f.t.Helper()
	s, err := f.Subscribe(filter, after)
	f.Expect(err).NotTo(HaveOccurred())
	f.t.Cleanup(s.Close)
	return s
}

// say is an event in short: what, of whom, with which version of the object, at which version to resume from.
func say(e feed.Event[string]) string {
	what := map[feed.Type]string{feed.Added: "added", feed.Modified: "modified", feed.Deleted: "deleted", feed.Bookmark: "until"}[e.Type]
	if e.Item != nil {
		what += " " + e.Item.Name + "@" + e.Item.Value
	}
	return what + " " + strconv.FormatUint(e.Version, 10)
}

// hears exactly these, and then nothing but a bookmark.
func (f *fixture) hears(s *feed.Subscription[string], events ...string) {
	f.t.Helper()
	for _, expected := range events {
		e, err := s.Next(f.t.Context(), long)
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(say(e)).To(Equal(expected))
	}
	e, err := s.Next(f.t.Context(), soon)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(e.Type).To(Equal(feed.Bookmark), say(e))
}

func TestSubscribe_beginsWithAllThereIs(t *testing.T) {
	t.Parallel()
	f := newFeed(t, object("b", "blue", 7), object("a", "blue", 9), object("r", "red", 8))
	f.hears(f.subscribe(feed.Filter{Owner: "blue"}, 0), "added a@9 0", "added b@7 0", "until 10")
	f.hears(f.subscribe(feed.Filter{}, 0), "added a@9 0", "added b@7 0", "added r@8 0", "until 10")
	f.hears(f.subscribe(feed.Filter{Owner: "blue", Name: "b"}, 0), "added b@7 0", "until 10")
	f.hears(f.subscribe(feed.Filter{Owner: "green"}, 0), "until 10")
}

func TestSubscription_hearsOfItsOwnersObjectsOnly(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	blue, all := f.subscribe(feed.Filter{Owner: "blue"}, 10), f.subscribe(feed.Filter{}, 10)
	f.Add(object("a", "blue", 11))
	f.Add(object("r", "red", 12))
	f.Update(object("a", "blue", 13))
	f.hears(blue, "added a@11 11", "modified a@13 13")
	f.hears(all, "added a@11 11", "added r@12 12", "modified a@13 13")
	f.Delete(object("a", "blue", 14))
	f.Delete(object("r", "red", 15))
	f.hears(blue, "deleted a@13 14")
	f.hears(all, "deleted a@13 14", "deleted r@12 15")
}

// As a public address does.
func TestSubscription_hearsOfWhatChangesHands(t *testing.T) {
	t.Parallel()
	f := newFeed(t, object("ip", "", 5))
	blue, red := f.subscribe(feed.Filter{Owner: "blue"}, 0), f.subscribe(feed.Filter{Owner: "red"}, 0)
	f.Update(object("ip", "blue", 11))
	f.Update(object("ip", "blue", 12))
	f.hears(blue, "until 10", "added ip@11 11", "modified ip@12 12")
	f.Update(object("ip", "red", 13))
	f.hears(blue, "deleted ip@12 13")
	f.hears(red, "until 10", "added ip@13 13")
	f.Update(object("ip", "", 14))
	f.hears(red, "deleted ip@13 14")
	items, err := f.Of("red")
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(items).To(BeEmpty())
}

func TestSubscribe_resumesExactly(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	for version := uint64(11); version <= 14; version++ {
		f.Add(object(strconv.FormatUint(version, 10), "blue", version))
	}
	f.hears(f.subscribe(feed.Filter{Owner: "blue"}, 12), "added 13@13 13", "added 14@14 14")
	f.hears(f.subscribe(feed.Filter{Owner: "blue"}, 14))
	f.hears(f.subscribe(feed.Filter{Owner: "blue"}, 10), "added 11@11 11", "added 12@12 12", "added 13@13 13", "added 14@14 14")

	f.Add(object("15", "blue", 15)) // which makes it forget the first one
	_, err := f.Subscribe(feed.Filter{Owner: "blue"}, 10)
	f.Expect(err).To(MatchError(feed.ErrExpired))
	f.hears(f.subscribe(feed.Filter{Owner: "blue"}, 11), "added 12@12 12", "added 13@13 13", "added 14@14 14", "added 15@15 15")

	// A client that has just written knows more than this proxy.
	ahead := f.subscribe(feed.Filter{Owner: "blue"}, 16)
	f.Update(object("15", "blue", 16))
	f.Update(object("15", "blue", 17))
	f.hears(ahead, "modified 15@17 17")
}

func TestBookmark_isWhereEverythingHasBeenHeard(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	s := f.subscribe(feed.Filter{Owner: "blue"}, 10)
	f.Expect(f.Bookmark("20")).To(Succeed())
	e, err := s.Next(t.Context(), soon)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(say(e)).To(Equal("until 20"))
}

func TestReplace_tellsTheDifference(t *testing.T) {
	t.Parallel()
	f := newFeed(t, object("a", "blue", 7), object("b", "blue", 8), object("c", "blue", 9))
	there := f.subscribe(feed.Filter{Owner: "blue"}, 10)
	behind, ahead, beyond := f.subscribe(feed.Filter{}, 10), f.subscribe(feed.Filter{}, 15), f.subscribe(feed.Filter{}, 31)
	f.Expect(f.Replace([]any{object("a", "blue", 7), object("b", "blue", 25)}, "30")).To(Succeed())
	heard := []string{}
	for range 3 {
		e, err := there.Next(t.Context(), long)
		f.Expect(err).NotTo(HaveOccurred())
		heard = append(heard, say(e))
	}
	f.Expect(heard[:2]).To(ConsistOf("modified b@25 0", "deleted c@9 0"), "neither can be resumed from")
	f.Expect(heard[2]).To(Equal("until 30"))
	_, err := ahead.Next(t.Context(), long)
	f.Expect(err).To(MatchError(feed.ErrExpired), "what happened between 15 and 30 isn't known")
	e, err := behind.Next(t.Context(), long)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(e.Version).To(BeZero())
	f.hears(beyond, "until 31")

	_, err = f.Subscribe(feed.Filter{}, 29)
	f.Expect(err).To(MatchError(feed.ErrExpired))
	f.hears(f.subscribe(feed.Filter{}, 30))

	// The API server has been restored from a backup: nothing that clients know is true any more.
	f.Expect(f.Replace(nil, "12")).To(Succeed())
	_, err = beyond.Next(t.Context(), long)
	f.Expect(err).To(MatchError(feed.ErrExpired))
}

func TestKnown_isForgottenWithWhatItWasKnownOf(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	f.Expect(f.Known()).To(Equal(uint64(10)))
	f.Know(20)
	f.Know(15)
	f.Add(object("a", "blue", 12))
	f.Expect(f.Known()).To(Equal(uint64(20)))
	f.hears(f.subscribe(feed.Filter{}, 12))
	f.Expect(f.Bookmark("30")).To(Succeed())
	f.Expect(f.Known()).To(Equal(uint64(30)))
	f.Expect(f.Replace(nil, "12")).To(Succeed(), "from a backup")
	f.Expect(f.Known()).To(Equal(uint64(12)))
}

func TestSubscription_ofAClientThatDoesNotListenEnds(t *testing.T) {
	t.Parallel()
	f := newFeed(t, object("a", "blue", 7))
	slow, fast := f.subscribe(feed.Filter{}, 0), f.subscribe(feed.Filter{}, 10)
	for version := uint64(11); version <= 14; version++ { // one more than may wait, beside the two that slow begins with
		f.Update(object("a", "blue", version))
		f.hears(fast, "modified a@"+strconv.FormatUint(version, 10)+" "+strconv.FormatUint(version, 10))
	}
	_, err := slow.Next(t.Context(), long)
	f.Expect(err).To(MatchError(feed.ErrExpired))
}

// What an object was before each change is kept for clients that come back, and for slow ones, as long as it isn't too much.
func TestRemember_isBoundedByBytesToo(t *testing.T) {
	t.Parallel()
	f := newFeedWith(t, feed.Config{Remember: 100, RememberBytes: 25, Backlog: 100}, object("a", "blue", 7))
	slow, fast := f.subscribe(feed.Filter{Owner: "blue"}, 0), f.subscribe(feed.Filter{Owner: "blue"}, 10)
	for version := uint64(11); version <= 12; version++ {
		f.Update(object("a", "blue", version))
	}
	f.hears(f.subscribe(feed.Filter{}, 10), "modified a@11 11", "modified a@12 12")
	f.Update(object("a", "blue", 13))
	f.hears(fast, "modified a@11 11", "modified a@12 12", "modified a@13 13")
	_, err := f.Subscribe(feed.Filter{}, 10)
	f.Expect(err).To(MatchError(feed.ErrExpired))
	f.hears(f.subscribe(feed.Filter{}, 11), "modified a@12 12", "modified a@13 13")
	_, err = slow.Next(t.Context(), long)
	f.Expect(err).To(MatchError(feed.ErrExpired), "it would keep what it began with")
	f.hears(f.subscribe(feed.Filter{}, 0), "added a@13 0", "until 13")
}

func TestNext_endsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.subscribe(feed.Filter{}, 10).Next(ctx, long)
	f.Expect(err).To(MatchError(context.Canceled))
}

func TestSubscribe_waitsForTheAPIServer(t *testing.T) {
	t.Parallel()
	f := feed.New(feed.Config{}, func(client.Object) *feed.Item[string] { return nil })
	_, err := f.Subscribe(feed.Filter{}, 0)
	NewWithT(t).Expect(err).To(MatchError(feed.ErrUnsynced))
	_, err = f.Of("blue")
	NewWithT(t).Expect(err).To(MatchError(feed.ErrUnsynced))
}
