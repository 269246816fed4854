package manager

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

type maker func(name, short string, run func(context.Context, *Options) error) *cobra.Command

// accept reads a command line as the program does before it begins.
func accept(make maker, args ...string) error {
	command := make("manager", "", nil)
	if err := command.ParseFlags(args); err != nil {
		return err
	}
	return command.PreRunE(command, nil)
}

func TestFlags_thatWouldPanicHangOrTurnAGuaranteeOffAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{
		"--poll-interval=0s", "--poll-interval=-1s", "--poll-interval=1ns", "--poll-interval=240000h",
		"--settle=-1m0s", "--settle=0s", "--settle=1ms",
		"--concurrency=0", "--concurrency=-1", "--max-creates=0",
		"--outside-qps=0", "--outside-qps=-1", "--outside-qps=NaN", "--outside-qps=+Inf", "--outside-burst=0",
		"--kube-api-qps=0", "--kube-api-qps=-2", "--kube-api-qps=NaN", "--kube-api-burst=0",
		"--webhook-port=-1", "--webhook-port=65536",
		`--namespace="Two Words"`, `--leader-election-namespace="a/b"`,
		`--health-addr="9440"`, `--health-addr=""`, `--metrics-addr=""`, `--metrics-addr="localhost"`, `--profiler-address="6060"`,
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
		ContainSubstring("--settle=-1m0s: must be at least 1s"),
		ContainSubstring(`--namespace="Two Words": must be the name of a namespace`),
	)), "all at once")
}

func TestFlags_areAcceptedAsTheyAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for name, make := range map[string]maker{"server": ServerCommand, "manager": Command, "engine": EngineCommand} {
		g.Expect(accept(make)).To(Succeed(), name)
	}
	g.Expect(accept(EngineCommand, "--kube-api-qps=-1", "--webhook-port=0", "--metrics-addr=0", "--health-addr=0",
		"--profiler-address=localhost:6060", "--otlp-endpoint=http://127.0.0.1:4317", "--namespace=team-a", "--poll-interval=50ms",
		"--settle=2s", "--outside-qps=0.5", "--concurrency=1")).To(Succeed())
}

// Cobra runs nothing whose preparation fails.
func TestCommand_doesNotBeginWithAFlagThatIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	command := EngineCommand("manager", "", func(context.Context, *Options) error { panic("it began") })
	command.SetArgs([]string{"--poll-interval=0s"})
	g.Expect(command.Execute()).To(MatchError(ContainSubstring("--poll-interval=0s: must be")))
}
