package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/sim"
)

func TestPlan_saysWhatCannotBeDoneAndFails(t *testing.T) {
	t.Parallel()
	e := start(t)
	for _, row := range []struct {
		name, file string
		says       []string
		fails      string
	}{
		{"an unknown site", e.but(sim.DefaultSiteID, "517e0000-0000-4000-8000-00000000dead"),
			[]string{"! site", "does not exist"}, "1 steps of the plan can't be done"},
		{"a token that is refused", e.but(sim.DefaultToken, "stale"),
			[]string{"! site", "401"}, "can't be done"},
		{"no Secret", e.but("kind: Secret\nmetadata: {name: demo}", "kind: Secret\nmetadata: {name: another}"),
			[]string{"! ReferencesResolved", "secret " + e.Namespace + "/demo does not exist: create it"}, "can't be done"},
		{"an unusable Secret", e.but("token: "+sim.DefaultToken, "user: me"),
			[]string{"! ReferencesResolved", "has no token"}, "can't be done"},
		{"a template that isn't there", e.file(oneSubnet + workers("nodes", sim.DefaultInstanceTypeID, 0)),
			[]string{"! 2 instances for MachineDeployment workers: there is no NvidiaBMMMachineTemplate workers"},
			"2 steps of the plan can't be done"},
		{"a network that isn't there", e.file(oneSubnet + workers("storage", sim.DefaultInstanceTypeID, 1)),
			[]string{`has no subnet "storage"`}, "2 steps of the plan can't be done"},
		{"an instance type that isn't there", e.file(oneSubnet + workers("nodes", "17fe0000-0000-4000-8000-00000000dead", 1)),
			[]string{"instance type 17fe0000-0000-4000-8000-00000000dead: get instance type: 404"}, "2 steps of the plan can't be done"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, strings.NewReader(row.file), "plan", "-f", "-", "--kubeconfig", e.kubeconfig, loopback)
			g := NewWithT(t)
			g.Expect(err).To(MatchError(ContainSubstring(row.fails)), out)
			for _, text := range row.says {
				g.Expect(out).To(ContainSubstring(text))
			}
			g.Expect(out + err.Error()).NotTo(ContainSubstring(sim.DefaultToken))
		})
	}
}

func TestPlan_repeatsWhatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	e := start(t)
	for _, row := range []struct {
		name, file string
		says       []string
	}{
		{"everything at once, defaults and rules of the CRD",
			e.file("\n  vpcPrefixes: [{name: a, prefixLength: 24}]" + workers("nodes", "no-uuid", 1)),
			[]string{
				"NvidiaBMMCluster " + e.Namespace + "/demo can't be applied", "write subnets instead",
				"NvidiaBMMMachineTemplate " + e.Namespace + "/workers can't be applied", "instanceType.id",
			}},
		{"what only the webhook knows", e.file("\n  subnets: [{name: a, cidr: 10.0.0.0/24}, {name: b, cidr: 10.0.0.0/25}]"),
			[]string{"can't be applied", "overlap"}},
		{"a field that doesn't exist", e.file(oneSubnet + "\n  subnet: mine"), []string{`unknown field "spec.subnet"`}},
		{"no namespace", e.annotated("namespace: nowhere"), []string{`namespace "nowhere" does not exist: create it first`}},
		{"a kind that isn't installed", e.but("x-k8s.io/v1beta1", "x-k8s.io/v1beta7"), []string{
			"doesn't know infrastructure.cluster.x-k8s.io/v1beta7 NvidiaBMMCluster: install the provider first"}},
		{"nothing to plan", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n",
			[]string{"there is no NvidiaBMMCluster in the file"}},
		{"no YAML", "a: [", []string{"document 1"}},
		{"an object twice", e.file(oneSubnet) + "---\n" + strings.Split(e.file(oneSubnet), "---\n")[2],
			[]string{"NvidiaBMMCluster " + e.Namespace + "/demo is in the file twice"}},
		{"a template", e.but("{name: demo}\nspec:\n  siteRef", "{name: '${CLUSTER_NAME}'}\nspec:\n  siteRef"),
			[]string{"with variables such as ${CLUSTER_NAME}", "run \"clusterctl generate yaml --from FILE\" first"}},
		{"a token that is still to come", e.but(sim.DefaultToken, "'${BMM_TOKEN}'"), []string{"variables such as ${BMM_TOKEN}: run"}},
		{"a template that is no YAML", e.but("{id: "+sim.DefaultSiteID+"}", "{id: ${BMM_SITE_ID:=x}}"),
			[]string{"variables such as ${BMM_SITE_ID:=x}: run"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, strings.NewReader(row.file), "plan", "-f", "-", "--kubeconfig", e.kubeconfig, loopback)
			g := NewWithT(t)
			g.Expect(err).To(HaveOccurred())
			for _, text := range row.says {
				g.Expect(err.Error()).To(ContainSubstring(text))
			}
			g.Expect(out).To(BeEmpty())
		})
	}
}

// What a script has in braces is the script's.
func TestPlan_leavesVariablesOfScriptsAlone(t *testing.T) {
	t.Parallel()
	e := start(t)
	script := "---\napiVersion: v1\nkind: Secret\nmetadata: {name: script}\nstringData: {value: 'echo ${HOME} ${BMM_TOKEN}'}\n"
	_, err := e.run(e.file(oneSubnet)+script, "plan", "-f", "-")
	e.Expect(err).NotTo(HaveOccurred())
}

func TestPlan_saysWhatHoldsEverythingUp(t *testing.T) {
	t.Parallel()
	e := start(t)
	for file, says := range map[string]string{
		e.but("kind: NvidiaBMMCluster, name: demo", "kind: NvidiaBMMCluster, name: other"): "no Cluster names it",
		e.but("spec:\n  infrastructureRef", "spec:\n  paused: true\n  infrastructureRef"):  "it is paused",
		e.annotated("annotations: {cluster.x-k8s.io/managed-by: me}"):                      "Bedplate does nothing for it",
	} {
		out, err := e.run(file, "plan", "-f", "-")
		e.Expect(err).NotTo(HaveOccurred())
		e.Expect(out).To(ContainSubstring(says))
	}
}
