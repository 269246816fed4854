package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
	krakesim "github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	managerflags "github.com/bedplate/bedplate/internal/manager"
	powersim "github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestMain(m *testing.M) {
	silence()
	os.Exit(m.Run())
}

func bmmTools(t *testing.T) tools.Dir {
	t.Helper()
	return toolstest.Find(t, append(bmmSystem(sim.Config{}).tools(), cloudControllerManager)...)
}

const (
	// speed of small benches: what the manager waits for is short enough to wait for it, and long enough for a busy machine. A create may
	// be under way for five seconds.
	speed = 15
	// patience is for what takes seconds where other packages' tests don't have the processors.
	patience = 10 * time.Minute
)

// atRest is for as many polls as are needed to see their pace. One is late by less than the time between two, also on a busy machine.
var atRest = idling{poll: 5 * time.Second, intervals: 3}

// A small bench, so that the large one works when it is wanted. It checks what doesn't depend on the computer.
func TestBench_measuresASmallFleetAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const machines, clusters = 20, 2
	report, err := (&bench{
		tools: bmmTools(t), dir: t.TempDir(), serial: 2, sizes: []int{machines}, perCluster: machines / clusters, nodes: machines,
		speed: speed, pace: 5, idling: atRest, patience: patience,
	}).run(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(report.Serial.Calls).To(HaveKeyWithValue("createInstance", 2))
	g.Expect(report.Serial.Failed).To(BeEmpty())
	g.Expect(report.Serial.Strays).To(BeZero())

	f := report.Runs[0]
	g.Expect(f.Clusters).To(Equal(clusters))
	g.Expect(f.Make.Calls).To(HaveKeyWithValue("createInstance", 1.0))
	g.Expect(f.Make.Delay.P50).To(BeNumerically(">", 0))
	g.Expect(f.Make.PeakRSS).To(BeNumerically(">", 10<<20))
	g.Expect(f.Make.Kube).To(HaveKey("PATCH"))
	g.Expect(f.Idle.Calls["listInstances"]).To(BeNumerically("~", f.Idle.ExpectedCalls, 1))
	g.Expect(f.Idle.ExpectedCalls).To(Equal(3))
	g.Expect(f.List.Calls).To(Equal(1))
	g.Expect(f.Gets.Calls).To(Equal(machines))
	g.Expect(f.Remove.Calls).To(HaveKeyWithValue("deleteInstance", 1.0))
	g.Expect(f.Remove.Left).To(BeZero())

	n := report.Nodes
	g.Expect(n.Delay.P50).To(BeNumerically(">", 0))
	g.Expect(n.StartCalls).NotTo(HaveKey("getInstance"))
	g.Expect(n.Rest.Calls["listInstances"]).To(BeNumerically("~", n.Rest.ExpectedCalls, 1))
	g.Expect(n.PeakRSS).To(BeNumerically(">", 10<<20))

	file := filepath.Join(t.TempDir(), "out", "bench.json")
	g.Expect(write(report, file)).To(Succeed())
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(data, &map[string]any{})).To(Succeed())
	var table bytes.Buffer
	report.print(&table)
	g.Expect(table.String()).To(ContainSubstring("outside calls per machine until provisioned"))
}

// A small bench of powervs' manager. How long it takes, and what that needs of a processor, depends on the computer.
func TestPowerBench_measuresSmallClustersAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const clusters, machines = 2, 2
	report, err := (&powerBench{
		bench: bench{
			tools: toolstest.Find(t, powerSystem(powersim.Config{}).tools()...), dir: t.TempDir(), perCluster: machines, speed: speed,
			idling: atRest, patience: patience,
		},
		fleet: clusters, controlPlanes: 1,
	}).run(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(report.Alone).To(BeNil())
	f := report.Fleet
	g.Expect(f.Chain.Cluster).To(BeNumerically("~", 500.0/speed, 0.001))
	g.Expect(f.Chain.Machines).To(BeNumerically("~", (530.0+240+60+20)/speed, 0.001))
	g.Expect(f.Make.ClustersAfter).To(BeNumerically(">=", f.Chain.Cluster))
	g.Expect(f.Make.MachinesAfter).To(BeNumerically(">=", f.Chain.Machines))
	g.Expect(f.Make.Calls).To(And(HaveKeyWithValue("iam.createToken", 1.0), HaveKeyWithValue("power.createDHCPServer", 1.0),
		HaveKeyWithValue("power.createServer", BeEquivalentTo(machines)), HaveKeyWithValue("vpc.createLoadBalancerPoolMember", BeNumerically(">=", 1))))
	g.Expect(f.Make.PeakRSS).To(BeNumerically(">", 10<<20))
	g.Expect(f.Idle.RestartCalls).To(HaveKeyWithValue("iam.createToken", clusters))
	g.Expect(f.Idle.ExpectedCalls).To(Equal(clusters * atRest.intervals))
	g.Expect(f.Idle.Calls["power.listServers"]).To(BeNumerically("~", f.Idle.ExpectedCalls, clusters))
	g.Expect(f.Idle.Calls).NotTo(Or(HaveKey("iam.createToken"), HaveKey("power.getServer")))
	g.Expect(f.Remove.Left).To(BeZero())

	var table bytes.Buffer
	report.print(&table)
	g.Expect(table.String()).To(And(ContainSubstring("all machines provisioned after"), MatchRegexp(`logins at rest +0 +0 +met`)))
}

// A small bench of Krake's manager.
func TestKrakeBench_measuresFewClustersAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f, err := (&krakeBench{
		bench: bench{
			tools: toolstest.Find(t, krakeSystem(krakesim.Config{}).tools()...), dir: t.TempDir(), speed: speed,
			idling: atRest, patience: patience,
		},
		number: 2, outage: 5 * time.Second,
	}).run(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Make.Calls).To(And(HaveKeyWithValue("createInfrastructure", 1.0), HaveKey("getOutputs")))
	g.Expect(f.Make.PeakRSS).To(BeNumerically(">", 10<<20))
	g.Expect(f.Outage.ChangedAfter).To(BeNumerically(">", 0))
	g.Expect(f.Idle.Probes).To(BeNumerically("~", 1, 0.5))
	g.Expect(f.Remove.Left).To(BeZero())
	var table bytes.Buffer
	f.print(&table)
	g.Expect(table.String()).To(ContainSubstring("all Clusters ONLINE after"))
}

// A small bench of DPF's operator. How long it takes isn't checked, and so neither how soon another one is at work.
func TestDPFBench_measuresFewNodesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const nodes = 4
	f, err := (&dpfBench{
		bench: bench{
			tools: toolstest.Find(t, dpfTools()...), dir: t.TempDir(), idling: atRest, patience: patience,
		},
		nodes: platform.Nodes{WithDPUs: nodes, Without: 1, PerCluster: nodes}, clusters: 1, rolled: rolled{alone: 1, atATime: 1},
	}).run(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(f.Install.Writes).To(And(HaveKey("patch deployments"), HaveKey("patch dpuservices"), Not(HaveKey("patch nodes"))))
	r := f.Roll
	g.Expect(r.Writes["patch nodes"]).To(BeNumerically("~", 3*nodes, nodes), "isolated, its chassis forgotten, switched")
	g.Expect(r.Writes["create records"]+r.Writes["update records"]).To(Equal(4*nodes), "one for each phase")
	g.Expect(r.Writes["patch dpfoperatorconfigs/status"]).To(BeNumerically(">", 0))
	g.Expect(r.StatusBytes).To(BeNumerically(">", 100))
	g.Expect(r.Others).To(BeZero())
	g.Expect(r.Operator.PeakRSS).To(BeNumerically(">", 10<<20))
	g.Expect(r.Services.PeakRSS).To(BeNumerically(">", 10<<20))
	g.Expect(f.Crash.AtWorkAfter).To(BeNumerically(">", 0))
	g.Expect(f.Idle.Writes).To(BeEmpty())
	g.Expect(f.Idle.Calls).To(And(HaveKeyWithValue(ownCluster, BeNumerically(">", 0)), HaveKeyWithValue(dpuClusters, BeNumerically(">", 0))))
	g.Expect(f.Back.Writes).To(HaveKey("patch nodes"))
	g.Expect(f.Back.Changed).To(BeEmpty())
	var table bytes.Buffer
	f.print(&table)
	g.Expect(table.String()).To(MatchRegexp(`objects that aren't as before +0 +0 +met`))
}

// A soak with a single storm.
func TestSoak_everythingIsRightAfterAStorm(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(endurance{
		tools: bmmTools(t), dir: t.TempDir(), duration: time.Second, storm: 5 * time.Second, seed: 1,
		clusters: 2, machines: 2, speed: 60,
	}.run(t.Context())).To(Succeed())
}

func TestUntil_saysWhatIsMissingAndNeverHangs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fails := func(context.Context) error { return errors.New("the site refuses") }
	g.Expect((&rig{}).until(t.Context(), "all is well", time.Millisecond, fails)).To(And(
		MatchError(context.DeadlineExceeded), MatchError(ContainSubstring("the site refuses"))))

	hangs := func(ctx context.Context) error { <-ctx.Done(); return errors.New("the site hangs") }
	ended := make(chan error, 1)
	go func() { ended <- (&rig{}).until(t.Context(), "all is well", time.Millisecond, hangs) }()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(MatchError(ContainSubstring("the site hangs"))))
}

func TestProfile_saysWhatWasAnswered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err := (&manager{profiler: server.URL + "/"}).profile(t.Context(), "heap")
	g.Expect(err).To(MatchError(HaveSuffix("404 Not Found")))
}

// At the speed of life the manager is set as by default.
func TestTempo_ofLifeIsTheManagersDefault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	set := managerflags.EngineCommand("manager", "", nil).Flags()
	defaults := map[string]string{}
	set.VisitAll(func(f *pflag.Flag) { defaults[f.Name] = f.DefValue })
	life := atSpeed(1).flags()
	g.Expect(set.Parse(life)).To(Succeed())
	g.Expect(life).To(HaveLen(6))
	set.Visit(func(f *pflag.Flag) {
		if f.Name != "kube-api-qps" {
			g.Expect(f.Value.String()).To(Equal(defaults[f.Name]), f.Name)
		}
	})
}

func TestFlat_failsOnWhatGrows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	steady := vital{heap: 20 << 20, rss: 80 << 20, goroutines: 200}
	life := func(grow func(v *vital, n float64)) []vital {
		var all []vital
		for n := range 12 {
			v := steady
			grow(&v, float64(n))
			all = append(all, v)
		}
		return all
	}
	g.Expect(flat(life(func(*vital, float64) {}))).To(Succeed())
	g.Expect(flat(life(func(v *vital, n float64) { v.heap += n * (600 << 10) }))).To(MatchError(ContainSubstring("live heap grows")))
	g.Expect(flat(life(func(v *vital, n float64) { v.rss += n * (4 << 20) }))).To(MatchError(ContainSubstring("RSS grows")))
	g.Expect(flat(life(func(v *vital, n float64) { v.goroutines += 5 * n }))).To(MatchError(ContainSubstring("goroutines grows")))
}

func TestSame_namesWhatIsNobodysAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(same("VPCs", []string{"b", "a"}, []string{"a", "b"})).To(Succeed())
	g.Expect(same("VPCs", []string{"a", "b"}, []string{"a"})).To(MatchError(ContainSubstring("without an owner are [b], missing are []")))
	g.Expect(same("VPCs", []string{"a"}, []string{"a", "b"})).To(MatchError(ContainSubstring("without an owner are [], missing are [b]")))
	g.Expect(same("VPCs", []string{"a", "a"}, []string{"a"})).NotTo(Succeed(), "doubled")
}

func TestPercentile_isTheNearestRank(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var durations []time.Duration
	for n := range 200 {
		durations = append(durations, time.Duration(n+1))
	}
	g.Expect(percentile(durations, 50)).To(Equal(time.Duration(100)))
	g.Expect(percentile(durations, 99)).To(Equal(time.Duration(198)))
	g.Expect(percentile(durations, 100)).To(Equal(time.Duration(200)))
	g.Expect(percentile(nil, 99)).To(BeZero())
}
