package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
)

type telling struct {
	central.Runtime
	news chan string
}

func (t telling) Died() <-chan string { return t.news }

// A runtime on Kubernetes reports what labels say, which any client may write.
func TestStart_takesOnlyNamesOfCentrals(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(30 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	runtime := telling{news: make(chan string)}
	n := newNetworks(ctx, runtime, nil)
	ended := make(chan error, 1)
	go func() { ended <- n.Start(ctx) }()
	for _, name := range []string{"", "ov", "red", service("blue")} {
		g.Eventually(runtime.news).Should(BeSent(name))
	}
	g.Eventually(n.groups).Should(Receive(Equal(event.TypedGenericEvent[types.UID]{Object: "blue"})))
	cancel()
	g.Eventually(ended).Should(Receive(BeNil()))
}

// A restarted database has counted nothing yet, and one that counts from the start has lower numbers than DPUs remember.
func TestBehind_isWhoeverIsntKnownToHaveTheChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change int
		has    map[string]int
		behind []string
	}{
		"all have it":         {3, map[string]int{"a": 3, "b": 3}, nil},
		"of another database": {3, map[string]int{"a": 3, "b": 4}, []string{"b"}},
		"one is late":         {3, map[string]int{"a": 3, "b": 2}, []string{"b"}},
		"one isn't there":     {3, map[string]int{"b": 3}, []string{"a"}},
		"nothing is counted":  {0, map[string]int{"a": 0, "b": 7}, []string{"a", "b"}},
		"nothing is known":    {0, nil, []string{"a", "b"}},
	} {
		NewWithT(t).Expect(behind(c.change, c.has, map[string]bool{"a": true, "b": true})).To(Equal(c.behind), name)
	}
}

// Whatever becomes of a central and of its connections, the deletion of its group goes on.
func TestParts_hasAnEnd(t *testing.T) {
	t.Parallel()
	const most = northdFarewell + chassisFarewell + farewellPoll
	for name, passes := range map[string]func(n int) (failed, southbound bool){
		"never answers":              func(int) (bool, bool) { return true, false },
		"never has the change":       func(int) (bool, bool) { return false, false },
		"has it, and no DPU does":    func(int) (bool, bool) { return false, true },
		"is lost again and again":    func(n int) (bool, bool) { return n%20 != 0, false },
		"has it now and then":        func(n int) (bool, bool) { return false, n%20 == 0 },
		"has it late, and is lost":   func(n int) (bool, bool) { return n > 299, n > 298 },
		"is lost, and has it, often": func(n int) (bool, bool) { return n%2 == 0, n%3 == 0 },
	} {
		w, began, n := &network{}, time.Now(), 0
		after := func() time.Duration { return time.Duration(n) * farewellPoll }
		for over := false; !over && after() <= most; n++ {
			failed, southbound := passes(n)
			over = w.parts(began.Add(after()), failed, southbound, false)
		}
		NewWithT(t).Expect(after()).To(BeNumerically("<=", most), name)
	}
}
