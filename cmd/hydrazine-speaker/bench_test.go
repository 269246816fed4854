package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// From the write of a next hop to the route in the kernel of a router that runs FRR.
func BenchmarkSpeaker_applyToRoute(b *testing.B) {
	w := newWorld(b)
	w.configure()
	w.speaker(1)
	w.established(1, router)
	updates, done := make(chan netlink.RouteUpdate, 1024), make(chan struct{})
	defer close(done)
	w.Expect(w.fabric.Do(fabric.Router, func() error { return netlink.RouteSubscribe(updates, done) })).To(Succeed())
	var times []time.Duration
	number := 0
	b.ResetTimer()
	for b.Loop() {
		number++
		address := fmt.Sprintf("198.18.%d.%d", number/250, number%250+1)
		b.StopTimer()
		ip := w.publicIP(address, "")
		b.StartTimer()
		began := time.Now()
		w.setNextHop(ip, hop)
		for update := range updates {
			if update.Type == unix.RTM_NEWROUTE && update.Dst != nil && update.Dst.String() == address+"/32" {
				break
			}
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(float64(times[len(times)-1].Microseconds())/1000, "ms/slowest")
}

// The memory of a speaker with 1,000 public IPs, and the time from its start until the router knows all of them.
func BenchmarkSpeaker_thousandPublicIPs(b *testing.B) {
	const many = 1000
	program := toolstest.Find(b, "hydrazine-speaker").Path("hydrazine-speaker")
	w := newWorld(b)
	w.configure()
	for i := range many {
		w.publicIP(fmt.Sprintf("198.18.%d.%d", i/250, i%250+1), hop)
	}
	for b.Loop() {
		began := time.Now()
		speaker := w.run(program, 1)
		w.Eventually(w.routes).WithTimeout(2 * time.Minute).Should(HaveLen(many))
		b.ReportMetric(time.Since(began).Seconds(), "s/known")
		w.Eventually(w.announcedByAll(many)).WithTimeout(patience).Should(BeTrue())
		b.ReportMetric(rss(w, speaker.PID()), "MB/RSS")
		speaker.Kill()
	}
}

// announcedByAll reports whether the first speaker's status counts so many.
func (w *world) announcedByAll(many int32) func() (bool, error) {
	return func() (bool, error) {
		all := &networkfabricv1.BGPConfigurationList{}
		err := w.client.List(w.Context(), all)
		return err == nil && len(all.Items) == 1 && len(all.Items[0].Status.Speakers) == 1 &&
			all.Items[0].Status.Speakers[0].Announced == many, err
	}
}

// rss of a process, in MB.
func rss(w *world, pid int) float64 {
	w.Helper()
	resident, _ := processtest.Memory(w.TB, pid)
	return resident
}
