package overlay_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// commands are those of a user with a lab in a folder.
type commands struct {
	*WithT
	t        *testing.T
	bedplate string
	dir      string
}

func newcomer(t *testing.T) *commands {
	t.Helper()
	fabrictest.Require(t)
	c := &commands{
		WithT: NewWithT(t), t: t, dir: filepath.Join(fabrictest.Dir(t), "lab"),
		bedplate: toolstest.Find(t, append(localstack.Tools(), "bedplate")...).Path("bedplate"),
	}
	t.Cleanup(func() { c.Expect(exec.Command(c.bedplate, "lab", "down", "--dir", c.dir).Run()).To(Succeed()) })
	return c
}

func (c *commands) run(args ...string) string {
	c.t.Helper()
	output, err := exec.CommandContext(c.t.Context(), c.bedplate, args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		c.t.Log(string(failed.Stderr))
	}
	c.Expect(err).NotTo(HaveOccurred(), "bedplate %s\n%s", strings.Join(args, " "), output)
	return string(output)
}

func (c *commands) expectNothingLeft() {
	c.t.Helper()
	c.Expect(c.dir).NotTo(BeADirectory())
	c.Expect(namespace.List(localstack.FabricPrefix(c.dir))).To(BeEmpty())
	// The supervisor has given its lock away a moment before it ends.
	c.Eventually(func() map[int]string { return processtest.Mentioning(c.t, c.dir) }).WithTimeout(patience).Should(BeEmpty())
}

// What the guide tells a newcomer to type.
func TestLab_showsWherePacketsGoAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newcomer(t)
	shown := c.run("lab", "up", "--dir", c.dir, "--example", lab.OverlayExample)
	c.Expect(strings.Count(shown, "\npass  ")).To(Equal(110))
	c.Expect(shown).NotTo(ContainSubstring("FAIL"))
	c.Expect(shown).To(MatchRegexp(`pass +host1 +host2 +10\.10\.10\.3 +icmp +an answer\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host3 +host2 +10\.10\.10\.3 +icmp +no answer\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host4 +dc +172\.19\.0\.10 +tcp 8080 +an answer, and to be seen as 172\.18\.1\.111\n`))
	c.Expect(shown).To(MatchRegexp(`pass +dc +host4 +172\.18\.1\.111 +tcp 8080 +no answer\n`))
	// Public addresses in, out, and from host to host; which host has which is chance.
	c.Expect(shown).To(MatchRegexp(`pass +internet +host2 +203\.0\.113\.1[01] +tcp 8080 +an answer, and to be seen as 198\.51\.100\.10\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host5 +internet +198\.51\.100\.10 +tcp 8080 +an answer, and to be seen as 203\.0\.113\.1[01]\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host2 +public IP of host5 +203\.0\.113\.1[01] +tcp 8080 +an answer, and to be seen as 203\.0\.113\.1[01]\n`))
	// A security group, the other IP version, the site's policy, the underlay.
	c.Expect(shown).To(MatchRegexp(`pass +host6 +host5 +fd10:20::2 +tcp 8080 +an answer, and to be seen as fd10:20::3\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host6 +host5 +fd10:20::2 +tcp 8081 +no answer\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host5 +dc +fd00:3::a +tcp 8080 +an answer, and to be seen as fd00:1::71\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host1 +bmc +172\.20\.0\.10 +tcp 8080 +no answer\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host1 +storage +172\.20\.0\.20 +tcp 8080 +an answer, and to be seen as 172\.18\.0\.105\n`))
	c.Expect(shown).To(MatchRegexp(`pass +host5 +dpu6 +fd00:2::f +udp 6081 +no answer\n`))

	kubeconfig := filepath.Join(c.dir, "kubeconfig")
	red := c.run("topology", "red", "-n", "default", "--kubeconfig", kubeconfig)
	c.Expect(red).To(And(ContainSubstring("host3"), ContainSubstring("172.18.1.111"), Not(ContainSubstring("host1"))))
	c.Expect(shown).To(ContainSubstring(red), "lab up has drawn it too")
	picture := xml.NewDecoder(strings.NewReader(c.run("topology", "red", "-n", "default", "--kubeconfig", kubeconfig, "-o", "svg")))
	for {
		if _, err := picture.Token(); err != nil {
			c.Expect(err).To(MatchError(io.EOF))
			break
		}
	}
	hosts, err := testenv.RunKubectl(t, kubeconfig, "get", "managedresources")
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(hosts).To(MatchRegexp(`host1 +blue +10\.10\.10\.2 +FabricAccess +172\.18\.0\.105 +dpu1 +True`))

	proxy := regexp.MustCompile(`PROXY=(\S+) TENANT="-cacert (\S+) -cert (\S+) -key (\S+)" OPERATOR="-cacert `).FindStringSubmatch(shown)
	c.Expect(proxy).To(HaveLen(5))
	tenant, err := client.Dial(proxy[1], client.Files{Authorities: proxy[2], Certificate: proxy[3], Key: proxy[4]})
	c.Expect(err).NotTo(HaveOccurred())
	groups, err := tenant.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(groups.GetResourceGroups()).To(HaveLen(3))
	c.Expect(tenant.Close()).To(Succeed())

	c.run("lab", "down", "--dir", c.dir)
	c.expectNothingLeft()
}

// OVN's centrals don't end with the manager, and network namespaces with no process.
func TestLab_downCleansUpAfterAKilledSupervisor(t *testing.T) {
	t.Parallel()
	c := newcomer(t)
	lines := strings.Split(strings.TrimSpace(c.run("lab", "up", "--dir", c.dir, "--example", lab.OverlayExample, "-o", "json")), "\n")
	var last lab.Event
	c.Expect(json.Unmarshal([]byte(lines[len(lines)-1]), &last)).To(Succeed())
	c.Expect(last.Lab.Overlay.Traffic).To(HaveEach(HaveField("Problem", BeEmpty())))
	c.Expect(syscall.Kill(last.Lab.PID, syscall.SIGKILL)).To(Succeed())
	c.Expect(namespace.List(last.Lab.Overlay.Prefix)).NotTo(BeEmpty())

	c.run("lab", "down", "--dir", c.dir)
	c.expectNothingLeft()
}
