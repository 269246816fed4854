package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var metadata = map[string]string{
	"hostname": "node-1", "sitename": "lab", "machine-id": "fm100", "instance-id": "i-1", "asn": "65001",
}

func TestParse_rendersWhatCloudInitRenders(t *testing.T) {
	t.Parallel()
	const jinja = "## template: jinja\n#cloud-config\nruncmd:\n- "
	rows := []struct {
		name, userData, want string
	}{
		{"a variable", jinja + "x {{ ds.meta_data.hostname }}", "x node-1"},
		{"without spaces", jinja + "x {{ds.meta_data.asn}}", "x 65001"},
		{"a key with a hyphen under its alias", jinja + "x {{ ds.meta_data.instance_id }}", "x i-1"},
		{"a key with a hyphen in brackets", jinja + "x {{ ds['meta_data']['instance-id'] }}", "x i-1"},
		{"a standard key", jinja + "x {{ v1.local_hostname }}", "x node-1"},
		{"a standard key without v1", jinja + "x {{ instance_id }}", "x i-1"},
		{"an unknown key", jinja + "x {{ ds.meta_data.site_uuid }}", "x CI_MISSING_JINJA_VAR/site_uuid"},
		{"an unknown variable", jinja + "x {{ nothing }}", "x CI_MISSING_JINJA_VAR/nothing"},
		{"a comment", jinja + "x{# {{ secret }} #}y", "xy"},
		{"a raw block", jinja + "x {% raw %}{{ .Go }}{% endraw %}", "x {{ .Go }}"},
		{"trimmed space", jinja + "x {{- instance_id -}} y", "xi-1y"},
		{"nothing, without the header", "#cloud-config\nruncmd:\n- x {{ ds.meta_data.hostname }}", "x {{ ds.meta_data.hostname }}"},
		{"nothing, when the header is the second line",
			"#cloud-config\n## template: jinja\nruncmd:\n- x {{ ds.meta_data.hostname }}", "x {{ ds.meta_data.hostname }}"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			config, err := Parse([]byte(row.userData), metadata)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.RunCommands).To(Equal([]string{row.want}))
		})
	}
}

func TestParse_refusesWhatCloudInitWouldNotRun(t *testing.T) {
	t.Parallel()
	const jinja = "## template: jinja\n#cloud-config\n"
	rows := []struct {
		name, userData, want string
	}{
		{"nothing", "", "doesn't begin with"},
		{"a script", "#!/bin/sh\n", "doesn't begin with"},
		{"jinja without cloud-config", "## template: jinja\nruncmd: []\n", "doesn't begin with"},
		{"bad YAML", "#cloud-config\nruncmd: [", "parse cloud-config"},
		{"an open variable", jinja + "# {{ x", `"{{" is never closed`},
		{"an open raw block", jinja + "# {% raw %}", "never closed"},
		{"a hyphen", jinja + "# {{ ds.meta_data.instance-id }}", "perhaps you meant"},
		{"a part of nothing", jinja + "# {{ no.such }}", `"no" is undefined`},
		{"a whole map", jinja + "# {{ ds.meta_data }}", "not a single value"},
		{"a statement", jinja + "# {% if x %}", "not supported here"},
		{"a filter", jinja + "# {{ x | upper }}", "not supported here"},
		{"a number as command", "#cloud-config\nruncmd: [{a: 1}]", "neither a string nor a list"},
		{"an unknown encoding", "#cloud-config\nwrite_files: [{path: /a, encoding: rot13}]", `unknown encoding "rot13"`},
		{"damaged base64", "#cloud-config\nwrite_files: [{path: /a, encoding: b64, content: '?'}]", "decode base64"},
		{"damaged gzip", "#cloud-config\nwrite_files: [{path: /a, encoding: gz+b64, content: YQ==}]", "unpack gzip"},
		{"bad permissions", "#cloud-config\nwrite_files: [{path: /a, permissions: '9'}]", "octal"},
		{"no path", "#cloud-config\nwrite_files: [{path: /, content: x}]", "no path"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(row.userData), metadata)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.want)))
		})
	}
}

func TestParse_decodesFiles(t *testing.T) {
	t.Parallel()
	packed := base64.StdEncoding.EncodeToString(zip(t, "hello"))
	rows := []struct {
		name, entry string
		want        File
	}{
		{"plain", "{path: /a, content: hello}", File{Path: "/a", Content: []byte("hello"), Mode: 0o644}},
		{"base64", "{path: /a, content: aGVsbG8=, encoding: base64}", File{Path: "/a", Content: []byte("hello"), Mode: 0o644}},
		{"gzip and base64", "{path: /a, content: " + packed + ", encoding: gzip+base64}", File{Path: "/a", Content: []byte("hello"), Mode: 0o644}},
		{"permissions as text", "{path: /a, permissions: '0600'}", File{Path: "/a", Content: []byte{}, Mode: 0o600}},
		{"permissions as YAML octal", "{path: /a, permissions: 0640}", File{Path: "/a", Content: []byte{}, Mode: 0o640}},
		{"append", "{path: /a, append: true}", File{Path: "/a", Content: []byte{}, Mode: 0o644, Append: true}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			config, err := Parse([]byte("#cloud-config\nwrite_files: ["+row.entry+"]"), nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.Files).To(Equal([]File{row.want}))
		})
	}
}

func TestParse_readsGzippedUserDataAndListCommands(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config, err := Parse(zip(t, "#cloud-config\nbootcmd: [one]\nruncmd: [[kubeadm, init, --config, /x]]\n"), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.BootCommands).To(Equal([]string{"one"}))
	g.Expect(config.RunCommands).To(Equal([]string{"kubeadm init --config /x"}))
}

func TestParse_refusesDataThatUnpacksToTooMuch(t *testing.T) {
	t.Parallel()
	_, err := Parse(zip(t, strings.Repeat(" ", maxUnpacked+1)), nil)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("more than")))
}

func TestWrite_staysOnTheDisk(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	outside := t.TempDir()
	disk := filepath.Join(outside, "disk")
	g.Expect(os.Mkdir(disk, 0o700)).To(Succeed())
	g.Expect(os.Symlink(outside, filepath.Join(disk, "link"))).To(Succeed())
	root, err := os.OpenRoot(disk)
	g.Expect(err).NotTo(HaveOccurred())
	defer root.Close()

	g.Expect(File{Path: "/../../etc/x", Content: []byte("a"), Mode: 0o600}.Write(root)).To(Succeed())
	g.Expect(File{Path: "etc/x", Content: []byte("b"), Mode: 0o600, Append: true}.Write(root)).To(Succeed())
	g.Expect(os.ReadFile(filepath.Join(disk, "etc/x"))).To(Equal([]byte("ab")), "as on a machine, / has no parent")
	info, err := os.Stat(filepath.Join(disk, "etc/x"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode()).To(Equal(fs.FileMode(0o600)))
	g.Expect(File{Path: "/link/y", Mode: 0o600}.Write(root)).NotTo(Succeed())
	g.Expect(filepath.Join(outside, "y")).NotTo(BeAnExistingFile())
}

// Whatever comes, Parse answers, and no file that it returns lies outside the disk.
func FuzzParse(f *testing.F) {
	f.Add([]byte("## template: jinja\n#cloud-config\nwrite_files:\n- {path: '/a/{{ ds.meta_data.asn }}', content: x}\nruncmd: [[a, b], c]\n"))
	f.Add([]byte("#cloud-config\nwrite_files: [{path: ../../x, encoding: gz+b64, content: H4sIAAAAAAAA}]"))
	f.Add([]byte("## template: jinja\n#cloud-config\n# {% raw %}{{{% endraw %}{{- x -}}{##}"))
	f.Fuzz(func(t *testing.T, userData []byte) {
		config, err := Parse(userData, metadata)
		if err != nil {
			return
		}
		for _, file := range config.Files {
			if !filepath.IsLocal(OnDisk(file.Path)) {
				t.Errorf("%q becomes %q", file.Path, OnDisk(file.Path))
			}
		}
	})
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, err = writer.Write([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(writer.Close()).To(Succeed())
	return packed.Bytes()
}
