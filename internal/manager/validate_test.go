package manager

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type maker func(name, short string, run func(context.Context, *Options) error) *cobra.Command

// accept reads a command line as the program does before it begins.
func accept(newCommand maker, args ...string) error {
	command := newCommand("manager", "", nil)
	if err := command.ParseFlags(args); err != nil {
		return err
	}
	return command.PreRunE(command, nil)
}

func TestFlags_thatWouldPanicHangOrTurnAGuaranteeOffAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{
		"--poll-interval=0s", "--poll-interval=-1s", "--poll-interval=1ns", "--poll-interval=240000h",
		"--settle=-1m0s", "--settle=0s", "--settle=2m29s", "--create-timeout=0s", "--create-timeout=91s", "--create-timeout=2000000h",
		"--concurrency=0", "--concurrency=-1", "--max-creates=0",
		"--outside-qps=0", "--outside-qps=-1", "--outside-qps=NaN", "--outside-qps=+Inf", "--outside-burst=0",
		"--kube-api-qps=0", "--kube-api-qps=-2", "--kube-api-qps=NaN", "--kube-api-burst=0",
		"--webhook-port=-1", "--webhook-port=65536",
		`--namespace="Two Words"`, `--leader-election-namespace="a/b"`, `--leader-identity="one"`,
		"--leader-elect-lease-duration=0s", "--leader-elect-lease-duration=4s", "--leader-elect-lease-duration=1h",
		`--health-addr="9440"`, `--health-addr=""`, `--metrics-addr=""`, `--metrics-addr="localhost"`, `--profiler-address="6060"`,
		`--allowed-endpoints="https://bmm.example.com"`, `--allowed-endpoints="10.1.2.3/8"`, `--cluster-cidrs="10.96.0.1"`,
		`--otlp-endpoint="collector:4317"`, `--otlp-endpoint="http://"`,
	} {
		t.Run(arg, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(accept(EngineCommand, strings.ReplaceAll(arg, `"`, ""))).To(MatchError(MatchRegexp(`^--[a-z-]+=\S.*: must be .+`)))
		})
	}
}

func TestFlags_areRefusedBySentencesThatNameFlagValueAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(accept(EngineCommand, "--poll-interval=0s", "--settle=-1m", "--namespace=Two Words")).To(MatchError(And(
		ContainSubstring("--poll-interval=0s: must be at least 10ms and at most 24h0m0s"),
		ContainSubstring("--settle=-1m0s: must be at least twice --create-timeout (1m15s)"),
		ContainSubstring(`--namespace="Two Words": must be the name of a namespace`),
	)), "all at once")
}

// Kubernetes leaves $(POD_NAME) as it is where there is no such variable: all replicas would have one identity, and lead at once.
func TestFlags_anIdentityIsANameAndNoVariable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(accept(Command, "--leader-identity=manager-7d4b9-x2x8k", "--leader-election-namespace=a")).To(Succeed())
	g.Expect(accept(Command, "--leader-identity=$(POD_NAME)", "--leader-election-namespace=a")).To(
		MatchError(ContainSubstring(`--leader-identity="$(POD_NAME)": must be the name of a Pod`)))
}

func TestFlags_areAcceptedAsTheyAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for name, newCommand := range map[string]maker{"server": ServerCommand, "manager": Command, "engine": EngineCommand} {
		g.Expect(accept(newCommand)).To(Succeed(), name)
	}
	g.Expect(accept(EngineCommand, "--kube-api-qps=-1", "--webhook-port=0", "--metrics-addr=0", "--health-addr=0",
		"--profiler-address=localhost:6060", "--otlp-endpoint=http://127.0.0.1:4317", "--namespace=team-a", "--poll-interval=50ms",
		"--settle=2s", "--create-timeout=1s", "--outside-qps=0.5", "--concurrency=1",
		"--allowed-endpoints=*.example.com:8443,10.0.0.0/8", "--cluster-cidrs=10.96.0.0/12,fd00:10:96::/112")).To(Succeed())
}

// Also of flags that come later.
func TestFlags_thatAreNumbersAllHaveLimits(t *testing.T) {
	t.Parallel()
	EngineCommand("manager", "", nil).Flags().VisitAll(func(f *pflag.Flag) {
		nonsense, number := map[string]string{"int": "-1000000", "float32": "-1000000", "float64": "-1000000", "duration": "-1000h"}[f.Value.Type()]
		if !number || strings.HasPrefix(f.Name, "log-") { // which are checked by their own library
			return
		}
		NewWithT(t).Expect(accept(EngineCommand, "--"+f.Name+"="+nonsense)).To(MatchError(HavePrefix("--"+f.Name+"=")), f.Name)
	})
}

// Cobra runs nothing whose preparation fails.
func TestCommand_doesNotBeginWithAFlagThatIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	command := EngineCommand("manager", "", func(context.Context, *Options) error { panic("it began") })
	command.SetArgs([]string{"--poll-interval=0s"})
	g.Expect(command.Execute()).To(MatchError(ContainSubstring("--poll-interval=0s: must be")))
}
