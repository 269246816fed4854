package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// desk is a keeper with a clock that synctest moves, and the ports that it has said are isolated.
type desk struct {
	*Keeper
	file File
	told int // how often something has changed

	mutex sync.Mutex // the keeper's goroutine doesn't wait for its readers
	cut   []string
}

// isolated returns the ports since the last forget.
func (d *desk) isolated() []string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return slices.Clone(d.cut)
}

func (d *desk) isolate(port string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.cut = append(d.cut, port)
}

func (d *desk) forget() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.cut = nil
}

func open(t *testing.T, g *WithT, file File, start time.Time) *desk {
	t.Helper()
	d := &desk{file: file}
	var err error
	d.Keeper, err = NewKeeper(file, func() time.Duration { return time.Since(start) }, d.isolate, func() { d.told++ })
	g.Expect(err).NotTo(HaveOccurred())
	return d
}

func newDesk(t *testing.T, g *WithT) (*desk, time.Time) {
	start := time.Now()
	d := open(t, g, File{Path: filepath.Join(t.TempDir(), "ledger.json"), Boot: "one"}, start)
	d.Meet("p0", "p1")
	return d, start
}

func (d *desk) give(port, name string, lease time.Duration) error {
	return d.Attach(port, d.Ledger().Ports[port].Generation, host(name, red), d.clock(), lease)
}

func TestKeeper_endsLeasesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		d, _ := newDesk(t, g)
		g.Expect(d.isolated()).To(ConsistOf("p0", "p1"), "who isn't known is isolated")
		d.forget()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go d.Run(ctx, func() {})
		g.Expect(d.give("p0", "a", time.Hour)).To(Succeed())
		g.Expect(d.give("p1", "b", 2*time.Hour)).To(Succeed())

		time.Sleep(50 * time.Minute)
		synctest.Wait()
		g.Expect(d.isolated()).To(BeEmpty())
		g.Expect(d.give("p0", "a", time.Hour)).To(Succeed(), "renewed")
		time.Sleep(time.Hour - time.Nanosecond)
		synctest.Wait()
		g.Expect(d.isolated()).To(BeEmpty())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		g.Expect(d.isolated()).To(Equal([]string{"p0"}))
		g.Expect(d.give("p1", "b", time.Second)).To(Succeed(), "shortened")
		time.Sleep(time.Second)
		synctest.Wait()
		g.Expect(d.isolated()).To(Equal([]string{"p0", "p1"}))
	})
}

func TestKeeper_cutsWhatHasRunOutBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		d, _ := newDesk(t, g)
		g.Expect(d.give("p0", "a", time.Minute)).To(Succeed())
		d.forget()
		time.Sleep(time.Minute)
		g.Expect(d.give("p1", "b", time.Hour)).To(Succeed())
		g.Expect(d.isolated()).To(Equal([]string{"p0"}))
		g.Expect(d.Ledger().Assigned()).To(Equal([]string{"p1"}))
	})
}

func TestKeeper_remembersThatAnIsolateHasOvertakenItsAttach(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, start := newDesk(t, g)
	g.Expect(d.give("p0", "a", time.Hour)).To(Succeed())
	generation, told := d.Ledger().Ports["p1"].Generation, d.told
	g.Expect(d.Isolate("uid-b")).To(Succeed())
	g.Expect(d.told).To(Equal(told), "otherwise a caller who tries again because of that never rests")
	g.Expect(d.Attach("p1", generation, host("b", red), d.clock(), time.Hour)).To(MatchError(ErrGeneration))
	again := open(t, g, d.file, start)
	g.Expect(again.Attach("p1", generation, host("b", red), again.clock(), time.Hour)).To(MatchError(ErrGeneration))
}

func TestKeeper_countsFromWhatTheCallerHasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		d, _ := newDesk(t, g)
		seen := d.clock()
		generation := d.Ledger().Ports["p0"].Generation
		time.Sleep(time.Minute) // the request is in flight
		g.Expect(d.Attach("p0", generation, host("a", red), seen, time.Minute)).To(MatchError(ErrTime))
		g.Expect(d.Attach("p0", generation, host("a", red), d.clock()+1, time.Hour)).To(MatchError(ErrTime))
		g.Expect(d.Ledger().Assigned()).To(BeEmpty())
		g.Expect(d.Attach("p0", generation, host("a", red), seen, time.Hour)).To(Succeed())
		g.Expect(d.Ledger().Ports["p0"].Expires).To(Equal(seen + time.Hour))
		g.Expect(d.Ledger().Ports["p0"].Until).To(BeTemporally("==", time.Now().Add(59*time.Minute)))
	})
}

func TestKeeper_survivesARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		d, start := newDesk(t, g)
		g.Expect(d.give("p0", "a", time.Hour)).To(Succeed())
		g.Expect(d.give("p1", "b", time.Minute)).To(Succeed())
		before := d.Ledger()

		time.Sleep(30 * time.Second)
		again := open(t, g, d.file, start)
		g.Expect(again.isolated()).To(BeEmpty())
		g.Expect(again.Ledger().Network).To(Equal(before.Network))
		for port, was := range before.Ports {
			is := again.Ledger().Ports[port]
			g.Expect(is.Until).To(BeTemporally("==", was.Until))
			is.Until, was.Until = time.Time{}, time.Time{}
			g.Expect(is).To(Equal(was))
		}

		time.Sleep(30 * time.Second) // no keeper is running
		again = open(t, g, d.file, start)
		g.Expect(again.isolated()).To(Equal([]string{"p1"}))
		g.Expect(again.Ledger().Assigned()).To(Equal([]string{"p0"}))
	})
}

func TestKeeper_forgetsWhatItCannotBeSureOf(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(text string) string{
		"cut off":          func(text string) string { return text[:len(text)/2] },
		"empty":            func(string) string { return "" },
		"newer format":     func(text string) string { return strings.Replace(text, `"format": 1`, `"format": 2`, 1) },
		"another boot":     func(text string) string { return strings.Replace(text, `"one"`, `"zero"`, 1) },
		"something else":   func(string) string { return `[]` },
		"no such address":  func(text string) string { return strings.Replace(text, "172.18.0.5", "172.18.0.555", 1) },
		"a wrong duration": func(text string) string { return strings.Replace(text, `"expires": `, `"expires": "soon", "x": `, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d, start := newDesk(t, g)
			g.Expect(d.give("p0", "a", time.Hour)).To(Succeed())
			data, err := os.ReadFile(d.file.Path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(d.file.Path, []byte(spoil(string(data))), 0o600)).To(Succeed())

			k, err := NewKeeper(d.file, func() time.Duration { return time.Since(start) }, func(string) {}, func() {})
			if name == "another boot" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(HaveOccurred())
			}
			g.Expect(k.Ledger().Assigned()).To(BeEmpty())
			g.Expect(k.Save()).To(Succeed())
			_, err = d.file.Load()
			g.Expect(err).NotTo(HaveOccurred(), "what can't be read now might be read later")
			k.Meet("p0")
			g.Expect(k.Ledger().Ports["p0"].Generation).To(BeNumerically(">", d.Ledger().Ports["p0"].Generation))
		})
	}
}

func TestKeeper_assignsNothingThatItCannotWriteDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, _ := newDesk(t, g)
	g.Expect(d.give("p0", "a", time.Hour)).To(Succeed())
	d.forget()
	away := filepath.Dir(d.file.Path) + ".away"
	g.Expect(os.Rename(filepath.Dir(d.file.Path), away)).To(Succeed())
	before := d.Ledger()
	g.Expect(d.give("p1", "b", time.Hour)).NotTo(Succeed())
	g.Expect(d.Ledger()).To(Equal(before))

	g.Expect(d.Isolate("uid-a")).NotTo(Succeed(), "the next agent would give it back")
	g.Expect(d.isolated()).To(Equal([]string{"p0"}), "but it is isolated")
	g.Expect(d.Isolate("uid-a")).NotTo(Succeed())
	g.Expect(d.Save()).NotTo(Succeed())
	g.Expect(os.Rename(away, filepath.Dir(d.file.Path))).To(Succeed())
	g.Expect(d.Save()).To(Succeed())
	l, err := d.file.Load()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l.Assigned()).To(BeEmpty())
}

// TestKeeper_writesOverWhatItHasRefused: the file was replaced, and only then the disk has failed.
func TestKeeper_writesOverWhatItHasRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, _ := newDesk(t, g)
	broken := errors.New("the disk is broken")
	d.write = func(l *Ledger) error { return errors.Join(d.file.Save(l), broken) }
	g.Expect(d.give("p0", "a", time.Hour)).To(MatchError(broken))
	g.Expect(d.Ledger().Assigned()).To(BeEmpty())
	g.Expect(d.Save()).To(MatchError(broken))
	g.Expect(d.Isolate("uid-a")).To(MatchError(broken), "it isn't certain")
	d.write = d.file.Save
	g.Expect(d.Isolate("uid-a")).To(Succeed())
	d.write = func(l *Ledger) error { return errors.Join(d.file.Save(l), broken) }
	g.Expect(d.give("p0", "a", time.Hour)).To(MatchError(broken))
	d.write = d.file.Save
	g.Expect(d.Save()).To(Succeed())
	l, err := d.file.Load()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l.Assigned()).To(BeEmpty())
}

// TestKeeper_endsLeasesWhileTheDiskHangs: and what was being written isn't granted when it comes too late.
func TestKeeper_endsLeasesWhileTheDiskHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		d, _ := newDesk(t, g)
		g.Expect(d.give("p0", "a", time.Minute)).To(Succeed())
		d.forget()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go d.Run(ctx, func() {})
		hang := make(chan struct{})
		d.write = func(l *Ledger) error { <-hang; return d.file.Save(l) }
		renewed := make(chan error)
		go func() { renewed <- d.give("p0", "a", time.Hour) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(d.isolated()).To(Equal([]string{"p0"}))
		g.Expect(d.Ledger().Assigned()).To(BeEmpty())
		close(hang)
		g.Expect(<-renewed).To(MatchError(ErrGeneration))
		g.Expect(d.Save()).To(Succeed())
		l, err := d.file.Load()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(l.Assigned()).To(BeEmpty())
	})
}

func TestHolding_onlyWhoStillHasIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, _ := newDesk(t, g)
	g.Expect(d.give("p0", "a", time.Hour)).To(Succeed())
	done := 0
	do := func() error { done++; return nil }
	g.Expect(d.Holding("p0", "uid-b", do)).To(Succeed())
	g.Expect(d.Holding("p1", "uid-a", do)).To(Succeed())
	g.Expect(done).To(BeZero())
	g.Expect(d.Holding("p0", "uid-a", do)).To(Succeed())
	g.Expect(done).To(Equal(1))
}

// A call hangs in what is done to a port while the port is held.
func TestKeeper_saysNothingWhileNoLeaseCanEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, _ := newDesk(t, g)
	g.Expect(d.give("p0", "a", time.Hour)).To(Succeed())
	holding, release := make(chan struct{}), make(chan struct{})
	go func() { _ = d.Holding("p0", "uid-a", func() error { close(holding); <-release; return nil }) }()
	<-holding
	looked := make(chan struct{}, 1)
	go d.Run(t.Context(), func() { looked <- struct{}{} })
	g.Consistently(looked).ShouldNot(Receive())
	close(release)
	g.Eventually(looked, "1m").Should(Receive())
}
