package tosca_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
)

const template = `# A cluster.
tosca_definitions_version: tosca_simple_yaml_1_0
imports:
  - grycap_custom_types: https://raw.githubusercontent.com/grycap/tosca/main/custom_types.yaml
topology_template:
  inputs:
    num_cpus: {type: integer, default: 2} # of each
  node_templates:
    front:
      type: tosca.nodes.indigo.Compute
      capabilities:
        host: &host
          properties: {num_cpus: {get_input: num_cpus}, mem_size: "4 GB", ports: "22:30"}
    wn:
      type: tosca.nodes.indigo.Compute
      capabilities: {host: *host}
  outputs:
    kubeconfig:
      value: {get_attribute: [front, kubeconfig]}
`

var grycap = tosca.Imports{"https://raw.githubusercontent.com/grycap/tosca/main/"}

func parse(t *testing.T, text string) *tosca.Template {
	t.Helper()
	parsed, err := tosca.Parse(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
	return parsed
}

func manyKeys(n int) string {
	var keys strings.Builder
	for i := range n {
		fmt.Fprintf(&keys, "%x,", i)
	}
	return keys.String()
}

func TestParse_staysWithinBounds(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for name, row := range map[string]struct{ text, message string }{
		"nothing":             {"", "it is empty"},
		"only a comment":      {"# nothing\n", "it is empty"},
		"too much":            {strings.Repeat("#", 200<<10) + "\n", "it has 204801 bytes, and may have 204800"},
		"two megabytes":       {strings.Repeat("a", 2_000_000), "it has 2000000 bytes"},
		"a bomb":              {bomb.String(), "it has more than 100000 values, aliases resolved"},
		"a snake":             {"a: &a [*a]", "line 1: values are more than 64 deep in others"},
		"too deep":            {"a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70), "values are more than 64 deep in others"},
		"much too deep":       {"a: " + strings.Repeat("[", 100_000), "exceeded max depth"},
		"too many values":     {"a: [" + strings.Repeat("1,", 100_000) + "]", "it has more than 100000 values"},
		"a long text often":   {"a: [&a " + strings.Repeat("y", 20_000) + strings.Repeat(", *a", 20_000) + "]", "it has more than 1048576 bytes, aliases resolved"},
		"too many keys":       {"a: {" + manyKeys(40_000) + "}", "line 1: a mapping has more than 2000 keys"},
		"many keys":           {"a: {" + manyKeys(1_999) + "}", ""},
		"many keys often":     {"a: &a {" + manyKeys(1_999) + "}\nb: [" + strings.Repeat("*a,", 20) + "]", "line 1: all mappings together have too many keys, aliases resolved"},
		"a key in Base64":     {"imports: [a]\n!!binary aW1wb3J0cw==: []\n", "line 2: a key has the tag !!binary: remove the tag"},
		"a hidden merge":      {"a: b\n!!merge c: {imports: [a]}\n", "line 2: a key has the tag !!merge: remove the tag"},
		"an alias of a merge": {"a: {&m <<: {}}\n*m : {imports: [a]}\n", "line 2: a key is an alias, a list or a mapping: write a text"},
		"a list as a key":     {"a: b\n? [c]\n: d\n<<: {}\n", "line 2: a key is an alias, a list or a mapping: write a text"},
		"a mapping as a key":  {"? {a: b}\n: c\n<<: {}\n", "line 1: a key is an alias, a list or a mapping: write a text"},
		"a merge":             {"a: &a {b: 1}\nc: {<<: *a}\nd: {!!merge <<: *a}\n", ""},
		"not YAML":            {"a: b\n c: d", "line 2: mapping values are not allowed in this context"},
		"a key twice":         {"a: 1\nb: 2\na: 3\n", `line 3: mapping key "a" already defined at line 1`},
		"a list":              {"[a]", "it isn't a YAML mapping"},
		"a text":              {"a", "it isn't a YAML mapping"},
		"two documents":       {"a: 1\n---\nb: 2\n", "it has more than one YAML document"},
		"an unknown alias":    {"a: *b", "unknown anchor 'b' referenced"},
		"not a number":        {"a: !!int b", "cannot decode"},
		"something unknown":   {"a: !!python/object:os.system {}", ""},
		"as deep as allowed":  {"a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var err error
			took := processtest.CPUTime(func() { _, err = tosca.Parse(row.text) })
			if row.message == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(And(ContainSubstring(row.message), Not(ContainSubstring("yaml:")), Not(ContainSubstring("\n")))))
			}
			g.Expect(took).To(BeNumerically("<", 5*time.Second))
		})
	}
}

func TestProblems_nameThePlaceAndTheRemedy(t *testing.T) {
	t.Parallel()
	const kubeconfig = "topology_template.outputs.kubeconfig must have a value, such as {get_attribute: [NODE_TEMPLATE, kubeconfig]}"
	const simple = "tosca_definitions_version: tosca_simple_yaml_1_3\n"
	const nodes = "topology_template.node_templates must have what the cluster consists of"
	const notAllowed = `isn't allowed: the manager allows https://raw.githubusercontent.com/grycap/tosca/main/ (--tosca-imports)`
	imports := func(with string) string {
		return strings.Replace(template, "grycap_custom_types: https://raw.githubusercontent.com/grycap/tosca/main/custom_types.yaml", with, 1)
	}
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"none":                  {template, nil},
		"nothing":               {"a: b", []string{"tosca_definitions_version must be", nodes, kubeconfig}},
		"another version":       {strings.Replace(template, "simple_yaml", "simple_json", 1), []string{"tosca_definitions_version must be"}},
		"a version that isn't":  {strings.Replace(template, "tosca_simple_yaml_1_0", "1.0", 1), []string{"tosca_definitions_version must be"}},
		"no node templates":     {strings.Replace(template, "node_templates", "nodes", 1), []string{nodes}},
		"a list of nodes":       {simple + "topology_template: {node_templates: [a]}", []string{nodes, kubeconfig}},
		"a topology that isn't": {simple + "topology_template: a", []string{nodes, kubeconfig}},
		"no kubeconfig":         {strings.Replace(template, "kubeconfig:", "config:", 1), []string{kubeconfig}},
		"no value":              {strings.Replace(template, "value:", "description:", 1), []string{kubeconfig}},
		"metadata that isn't":   {template + "metadata: a\n", []string{"metadata must be a mapping"}},
		"metadata of nothing":   {template + "metadata:\n", []string{"metadata must be a mapping"}},
		"merged metadata":       {template + "x: &x {metadata: {a: b}}\n<<: *x\n", []string{"metadata must be a mapping of its own"}},

		"an import":           {imports("https://raw.githubusercontent.com/grycap/tosca/main/a/b.yaml"), nil},
		"a named import":      {imports("b: {file: https://raw.githubusercontent.com/grycap/tosca/main/b.yaml}"), nil},
		"a described import":  {imports("file: https://raw.githubusercontent.com/grycap/tosca/main/b.yaml"), nil},
		"a file":              {imports("/etc/passwd"), []string{`imports: "/etc/passwd" ` + notAllowed}},
		"a file's URL":        {imports("file:///etc/passwd"), []string{`imports: "file:///etc/passwd" ` + notAllowed}},
		"another host":        {imports("https://example.com/b.yaml"), []string{`imports: "https://example.com/b.yaml" ` + notAllowed}},
		"another one's name":  {imports("b: http://169.254.169.254/"), []string{notAllowed}},
		"upwards":             {imports("https://raw.githubusercontent.com/grycap/tosca/main/../../evil/b.yaml"), []string{notAllowed}},
		"upwards, encoded":    {imports("https://raw.githubusercontent.com/grycap/tosca/main/%2e%2e/b.yaml"), []string{notAllowed}},
		"out of a repository": {imports("b: {file: b.yaml, repository: evil}"), []string{`"b.yaml of repository evil" isn't allowed`}},
		"no list":             {strings.Replace(template, "  - grycap_custom_types:", "  grycap_custom_types:", 1), nil},
		"no list, a file":     {strings.Replace(imports("x"), "\n  - x", " /etc/passwd", 1), []string{`"/etc/passwd"`}},
		"something else":      {imports("[/etc/passwd]"), []string{`"[/etc/passwd]"`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			problems := grycap.Problems(parse(t, row.text))
			g.Expect(problems).To(HaveLen(len(row.want)), "%q", problems)
			for i, want := range row.want {
				g.Expect(problems[i]).To(ContainSubstring(want))
			}
		})
	}
	none := tosca.Imports{}.Problems(parse(t, template))
	NewWithT(t).Expect(none).To(ConsistOf(ContainSubstring("the manager allows none (--tosca-imports)")))
	exact := tosca.Imports{"custom_types.yaml"}
	NewWithT(t).Expect(exact.Problems(parse(t, imports("custom_types.yaml")))).To(BeEmpty())
	NewWithT(t).Expect(exact.Problems(parse(t, imports("custom_types.yaml/b")))).To(HaveLen(1))
}

// IM reads them as it does imports, from its own disk, too, and puts them onto the machine of whoever has written the template.
func TestProblems_areWhatIMReadsForAnOperation(t *testing.T) {
	t.Parallel()
	const allowed = "https://raw.githubusercontent.com/grycap/tosca/main/artifacts/a.yml"
	for name, row := range map[string]struct{ with, refused string }{
		"a file":             {"interfaces: {Standard: {configure: {implementation: 'file:///etc/im/im.cfg'}}}", "file:///etc/im/im.cfg"},
		"a file's path":      {"interfaces: {Standard: {configure: {implementation: /etc/passwd}}}", "/etc/passwd"},
		"upwards":            {"interfaces: {Standard: {configure: {implementation: ../../etc/passwd}}}", "../../etc/passwd"},
		"a server":           {"interfaces: {Standard: {configure: {implementation: 'http://169.254.169.254/'}}}", "http://169.254.169.254/"},
		"one with blanks":    {"interfaces: {Standard: {configure: {implementation: \" fi\\tle:/etc/passwd\"}}}", `" fi\tle:/etc/passwd"`},
		"an operation alone": {"interfaces: {Standard: {configure: FILE:/etc/passwd}}", "FILE:/etc/passwd"},
		"the first of two":   {"interfaces: {Standard: {configure: {implementation: {primary: /etc/passwd, dependencies: [a]}}}}", "/etc/passwd"},
		"another one":        {"interfaces: {Standard: {configure: {implementation: {primary: a, dependencies: [/etc/passwd]}}}}", "/etc/passwd"},
		"beside a number":    {"interfaces: {1: {}, Standard: {configure: {implementation: /etc/passwd}}}", "/etc/passwd"},
		"next to a number":   {"interfaces: {Standard: {1: {}, configure: /etc/passwd}}", "/etc/passwd"},
		"an artifact":        {"artifacts: {a: /etc/passwd}", "/etc/passwd"},
		"a described one":    {"artifacts: {a: {file: /etc/passwd, type: tosca.artifacts.File}}", "/etc/passwd"},
		"a list of them":     {"artifacts: [{a: {file: /etc/passwd}}]", "/etc/passwd"},
		"a repository":       {"repositories: {a: {url: 'http://169.254.169.254/'}}", "http://169.254.169.254/"},
		"a name of a field":  {"artifacts: {inputs: /etc/passwd}", "/etc/passwd"},
		"another such name":  {"artifacts: {description: {file: /etc/passwd}}", "/etc/passwd"},
		"an interface's":     {"interfaces: {type: {configure: /etc/passwd}}", "/etc/passwd"},
		"a repository's":     {"repositories: {inputs: {url: 'http://169.254.169.254/'}}", "http://169.254.169.254/"},
		"an empty one":       {"repositories: {a: {url: ' '}}", "/"}, // a file in it has an absolute path
		"one of one file":    {"repositories: {a: {url: 'https://raw.githubusercontent.com/grycap/tosca/main'}}, artifacts: {a: b}", ""},
		"upwards, encoded":   {"artifacts: {a: {file: '.%2E/b.yml', repository: c}}", ".%2E/b.yml"},
		"its own":            {"interfaces: {Standard: {configure: {implementation: lrms/torque_install.yml, inputs: {path: /etc/passwd}}}}", ""},
		"an allowed one":     {"interfaces: {Standard: {configure: {implementation: '" + allowed + "'}}}", ""},
		"a role":             {"artifacts: {role: {file: 'git+https://github.com/a/b|c', deploy_path: /opt, type: tosca.artifacts.AnsibleGalaxy.role}}", ""},
		"an image":           {"artifacts: {image: {file: 'a/b:1.2', type: tosca.artifacts.Deployment.Image.Container.Docker}}", ""},
	} {
		g := NewWithT(t)
		problems := grycap.Problems(parse(t, template+"x: {y: [{"+row.with+"}]}\n"))
		if row.refused == "" {
			g.Expect(problems).To(BeEmpty(), name)
			continue
		}
		g.Expect(problems).To(ConsistOf(And(HavePrefix("implementation or artifact "), ContainSubstring(strings.Trim(row.refused, `"`)))), name)
	}
}

func TestEqual_looksAtWhatATemplateMeans(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		a, b string
		want bool
	}{
		"the same":                        {template, template, true},
		"without comments":                {template, strings.NewReplacer("# A cluster.\n", "", " # of each", "").Replace(template), true},
		"another order":                   {"a: 1\nb: {c: 2, d: [3]}", "b:\n  d:\n  - 3\n  c: 2\na: 1", true},
		"quotes":                          {"a: b\nc: 'd'", "a: \"b\"\nc: d", true},
		"a block":                         {"a: |\n  b\n  c\n", `a: "b\nc\n"`, true},
		"an alias":                        {"a: &a [b]\nc: *a", "a: [b]\nc: [b]", true},
		"a merge":                         {"a: &a {b: 1}\nc: {<<: *a, d: 2}", "a: {b: 1}\nc: {d: 2, b: 1}", true},
		"not a number":                    {"a: .nan", "a: .NaN", true},
		"an empty metadata":               {"a: 1\nmetadata: {}", "a: 1", true},
		"another value":                   {"a: 1", "a: 2", false},
		"another value, deep inside":      {template, strings.Replace(template, "4 GB", "8 GB", 1), false},
		"one more":                        {"a: {b: 1}", "a: {b: 1, c: 2}", false},
		"one less":                        {"a: [1, 2]", "a: [1]", false},
		"another order of a list":         {"a: [1, 2]", "a: [2, 1]", false},
		"a number and a text":             {"a: 1", "a: '1'", false},
		"nothing and a text":              {"a:", "a: ''", false},
		"a truth and a text":              {"a: true", "a: 'true'", false},
		"a truth in old words":            {"a: yes", "a: true", true},
		"a truth in old words and a text": {"a: yes", "a: 'yes'", false},
		"a number of base 60":             {"a: 22:30", "a: '22:30'", false},
		"a number that is a text":         {"a: 1e3", "a: 1000", false},
		"a day and a text":                {"a: 2026-01-02", "a: '2026-01-02'", false},
		"other metadata":                  {"a: 1\nmetadata: {b: c}", "a: 1", false},
	} {
		g := NewWithT(t)
		a, b := parse(t, row.a), parse(t, row.b)
		g.Expect(tosca.Equal(a, b)).To(Equal(row.want), name)
		g.Expect(tosca.Equal(b, a)).To(Equal(row.want), name)
	}
}

func TestMark_isReadBackAndChangesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no metadata":      template,
		"metadata":         template + "metadata:\n  template_name: demo\n",
		"in braces":        template + "metadata: {template_name: demo}\n",
		"empty":            template + "metadata: {}\n",
		"an alias":         template + "x: &x {a: b}\nmetadata: *x\n",
		"another's mark":   template + "metadata: {bedplate_owner: evil, bedplate_hash: none}\n",
		"in braces, all":   "{a: b}",
		"names alone":      template + "x: {a, b}\n",
		"times in a list":  template + "x: [22:30, 7:00]\n",
		"an empty line":    template + "x: |\n\n  #!/bin/sh\n  a\n",
		"folded lines":     template + "x: >-\n\n  a\n    b\n  c\n",
		"windows' endings": strings.ReplaceAll(template, "\n", "\r\n"),
	} {
		g := NewWithT(t)
		before := parse(t, text)
		const owner = "bedplate:6f3c/default/demo #1: \"quoted\""
		marked, err := before.Marked(owner)
		g.Expect(err).NotTo(HaveOccurred(), name)
		after := parse(t, marked)
		g.Expect(after.Mark()).To(Equal(tosca.Mark{Owner: owner, Hash: before.Hash()}), name)
		g.Expect(after.Hash()).To(Equal(before.Hash()), name)
		again, err := after.Marked("other")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(parse(t, again).Mark()).To(Equal(tosca.Mark{Owner: "other", Hash: before.Hash()}), name)
	}
	NewWithT(t).Expect(parse(t, template).Mark()).To(BeZero())
	marked, err := parse(t, template).Marked("me")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(marked).To(And(
		HavePrefix(template[:200]), ContainSubstring("\nmetadata:\n  bedplate_owner: \"me\"\n")), "the rest stays readable")
}

// A service that indents more, or writes each value in a line of its own, may have a longer text of what is allowed here.
func TestRead_knowsTheMarkOfWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	values := "x:\n" + strings.Repeat("- a\n", 45_000)
	before := parse(t, template+values) // with its mark, more than Parse allows
	marked, err := before.Marked("me")
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{
		marked,
		"a: 'x\n\nmetadata:\n\n  bedplate_owner: evil'\nmetadata:\n  a:\n    bedplate_owner: evil\n  bedplate_hash: " +
			before.Hash() + "\n  bedplate_owner: 'me'\n" + strings.ReplaceAll(values, "- a", "  - a"),
	} {
		_, err = tosca.Parse(text)
		g.Expect(err).To(HaveOccurred())
		after, err := tosca.Read(text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(after.Mark()).To(Equal(tosca.Mark{Owner: "me", Hash: before.Hash()}))
	}
	took := processtest.CPUTime(func() {
		long, err := tosca.Read("metadata:\n" + strings.Repeat(" x\n", 2_500_000) + "  bedplate_owner: me\n") // of a server that isn't IM
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(long.Mark().Owner).To(Equal("me"))
	})
	g.Expect(took).To(BeNumerically("<", 2*time.Second))
	_, err = tosca.Read(template + strings.Repeat("#", krakev1.MaxTOSCA))
	g.Expect(err).To(MatchError(ContainSubstring("and may have 204800")), "it has no mark")
}

// What was applied is compared with hashes that are outside: they have to stay what they are.
func TestHash_staysTheSame(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(parse(t, "b: [1, 2.5, yes]\na: {c: 'x'}").Hash()).To(
		Equal("4b85fcbcc434e7630273e5f59fdaabb74a9016c1153e4adb4de79a3b7457f043"))
}

func TestRemoved_areNodeTemplates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := parse(t, template)
	g.Expect(before.NodeTemplates()).To(Equal([]string{"front", "wn"}))
	g.Expect(tosca.Removed(before, before)).To(BeEmpty())
	g.Expect(tosca.Removed(before, parse(t, strings.ReplaceAll(template, "    wn:", "    worker:")))).To(Equal([]string{"wn"}))
	g.Expect(tosca.Removed(before, parse(t, "a: b"))).To(Equal([]string{"front", "wn"}))
}

func TestParse_ofATextThatIsKnownIsTheSame(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text := strings.Replace(template, "front", "known", 1) + "  artifacts: [/etc/passwd]\nmetadata: {bedplate_owner: me, bedplate_hash: abc}\n"
	first := parse(t, text)
	problems := tosca.Imports(nil).Problems(first)
	g.Expect(problems).To(ContainElements(ContainSubstring("raw.githubusercontent.com"), ContainSubstring("/etc/passwd")))
	again := parse(t, text)
	g.Expect(tosca.Imports(nil).Problems(again)).To(Equal(problems))
	g.Expect(again.NodeTemplates()).To(Equal([]string{"known", "wn"}))
	g.Expect(again.Mark()).To(Equal(tosca.Mark{Owner: "me", Hash: "abc"}))
	g.Expect(again.Hash()).To(Equal(first.Hash()))
	marked, err := again.Marked("you")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parse(t, marked).Mark()).To(Equal(tosca.Mark{Owner: "you", Hash: first.Hash()}))
}

// Twelve hexadecimal digits may be a number to a YAML package. The infrastructure manager writes them without quotes: to its own they are none.
func TestMarked_ofAnOwnerThatLooksLikeANumber(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, owner := range []string{"12e345678901", "1e0000000005", "123456789012", "000000000017", "837a5e2e143a"} {
		parsed := parse(t, template)
		marked, err := parsed.Marked(owner)
		g.Expect(err).NotTo(HaveOccurred(), owner)
		want := tosca.Mark{Owner: owner, Hash: parsed.Hash()}
		g.Expect(parse(t, marked).Mark()).To(Equal(want))
		plain := strings.ReplaceAll(marked, `"`, "")
		g.Expect(plain).To(ContainSubstring("bedplate_owner: " + owner + "\n"))
		read, err := tosca.Read(plain)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read.Mark()).To(Equal(want))
	}
}

// What is done in each poll with a template of 20 KiB: nothing of it is parsed.
func BenchmarkParse_ofATextThatIsKnown(b *testing.B) {
	var text strings.Builder
	text.WriteString(template)
	for i := range 300 {
		fmt.Fprintf(&text, "  comment%d: {of: a template that is as long as those of real clusters}\n", i)
	}
	for b.Loop() {
		parsed, err := tosca.Parse(text.String())
		if err != nil || len(grycap.Refuse(parsed)) > 0 || parsed.Hash() == "" {
			b.Fatal(err)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		template, "a: &a [*a]", "<<: {a: b}\n", "metadata: &x {<<: *x}", "? [a]\n: b\n", "a: .nan\n.nan: b", "a: !!binary aGk=", "1: 2\ntrue: no",
		"metadata: {bedplate_owner: {a: b}}", "a: |+\n  b \n\n", "\ufeffa: b", "a: !x y", "? a: b\n: c\n<<: {}", "x: {&m <<: {}}\n*m : {a: b}", "%YAML 1.1\n---\na: 08", "&a b: *a",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := NewWithT(t)
		parsed, err := tosca.Parse(text)
		if err != nil {
			return
		}
		problems := grycap.Problems(parsed)
		again, err := tosca.Parse(text) // whose outline is known
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(tosca.Equal(parsed, again)).To(BeTrue())
		g.Expect(grycap.Problems(again)).To(Equal(problems))
		g.Expect(again.NodeTemplates()).To(Equal(parsed.NodeTemplates()))
		g.Expect(again.Mark()).To(Equal(parsed.Mark()))
		if marked, err := parsed.Marked("owner"); err == nil {
			g.Expect(parse(t, marked).Mark()).To(Equal(tosca.Mark{Owner: "owner", Hash: parsed.Hash()}))
		}
	})
}
