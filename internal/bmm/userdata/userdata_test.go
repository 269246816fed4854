package userdata_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"gopkg.in/yaml.v3"

	"github.com/bedplate/bedplate/internal/bmm/userdata"
	"github.com/bedplate/bedplate/internal/localstack/boot/cloudinit"
)

// arrived is what the real service makes of user data, with phone-home off.
func arrived(sent string) string {
	document := &yaml.Node{}
	if err := yaml.Unmarshal([]byte(sent), document); err != nil || len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return sent
	}
	root := document.Content[0]
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		var part struct{ URL string }
		if root.Content[i].Value == "phone_home" && root.Content[i+1].Decode(&part) == nil && part.URL == itsURL {
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
	if len(root.Content) == 0 {
		return ""
	}
	text, err := yaml.Marshal(document)
	if err != nil {
		return ""
	}
	return string(text)
}

const (
	itsURL   = "http://169.254.169.254:7777/latest/meta-data/phone_home"
	head     = "#cloud-config\n"
	template = "## template: jinja\n" + head
)

func TestSendable_isTheDataWhereItArrivesOrMeansTheSame(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"nothing":                   "",
		"kubeadm's":                 template + "\nwrite_files:\n-   path: '/x'  \n    permissions: '0640'\n    content: |\n      {{ ds.meta_data.hostname }} é\nruncmd:\n  - 'kubeadm init  && echo ok'\n",
		"a value in a plain scalar": template + "hostname:   a{{ v1.local_hostname }}b\n",
		"a shell script":            "#!/bin/sh\necho    hi\n",
		"a boothook":                "#cloud-boothook\n#!/bin/sh\necho    hi\n",
		"Ignition's JSON":           `{"ignition":{"version":"3.4.0"},"n":1.50e3,"o":{},"l":[]}` + "\n",
		"a template of blocks":      template + "a:   1\n{% if x %}\nb: 2\n{% endif %}\n",
		"YAML of another system":    "version:   v1alpha1\nmachine:\n      type: worker\n",
		"words of YAML 1.1":         head + "a:   yes\nb: 0644\nc: 1:30\nd: ~\n",
		"comments":                  head + "# first\na:   1 # one\n# last\n",
		"a carriage return":         head[:len(head)-1] + "\r\na: |\r\n  b\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(userdata.Sendable(data, false)).To(Equal(data))
		})
	}
}

// Each row is destroyed where it is sent as it is.
func TestSendable_bringsWhatTheServiceWouldDestroyByteForByte(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"a template outside of quotes":    template + "hostname: {{ ds.meta_data.hostname }}\n",
		"a template in a key":             template + "{{ ds.meta_data.hostname }}: é\n",
		"a statement in a block":          template + "a: |\n      {% if x %}\n      b\n      {% endif %}\n",
		"quotes that would be escaped":    template + "a: |\n  x \n  {{ ds.meta_data[\"hostname\"] }}\n",
		"quotes around what is rendered":  template + "a: |\n  x \n  {{ v1.local_hostname }}\n",
		"lines that are indented for it":  template + "a: |\n        x\n        {{ v1.y | indent(8) }}\n",
		"a statement behind an escape":    template + "a:   \"\\x7b% raw %}\"\n",
		"a template behind an escape":     template + "a:   \"\\x7b{ x\"\n",
		"a script that looks like YAML":   "#!/bin/sh\necho:    hi\n",
		"a templated one":                 "## template: jinja\n#!/bin/sh\necho:    hi\n",
		"a boothook that looks like YAML": "#cloud-boothook\necho:    hi\n",
		"a second document":               head + "a: 1\n---\nb: 2\n",
		"nothing in it":                   head + "{}\n",
		"what looks like the service's":   head + "a: 1\nphone_home: {url: '" + itsURL + "'}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(arrived(data)).NotTo(Equal(data), "otherwise this proves nothing")
			sent, err := userdata.Sendable(data, false)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(arrived(sent)).To(Equal(sent))
			g.Expect(sent).To(HavePrefix("MIME-Version: 1.0\nContent-Type: multipart/mixed;"))
			g.Expect(sent).To(ContainSubstring("\nContent-Transfer-Encoding: base64\n"))
			g.Expect(cloudinit.Text([]byte(sent))).To(Equal(data))
		})
	}
}

// Of cloud-init's kinds of user data these are no YAML, and may look like it. The lab's machines don't know them.
func TestSendable_bringsPartHandlersAndIncludesByteForByte(t *testing.T) {
	t.Parallel()
	for contentType, data := range map[string]string{
		"text/part-handler":       "#part-handler\ndef list_types():\n    x = 1\n    return [x]\n",
		"text/x-include-url":      "#include\nhttps://example.com/a: b\n\nhttps://example.com/c: d\n",
		"text/x-include-once-url": "#include-once\nhttps://example.com/a: b\n\nhttps://example.com/c: d\n",
	} {
		g := NewWithT(t)
		g.Expect(arrived(data)).NotTo(Equal(data), "otherwise this proves nothing")
		sent, err := userdata.Sendable(data, false)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(arrived(sent)).To(Equal(sent))
		g.Expect(sent).To(ContainSubstring("\nContent-Type: " + contentType + ";"))
		encoded := base64.StdEncoding.EncodeToString([]byte(data))
		g.Expect(strings.ReplaceAll(sent, "\n", "")).To(ContainSubstring(encoded))
	}
}

func TestSendable_bringsIgnitionsJSONAsJSON(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"ignition":{"version":"3.4.0"},"contents":"\u001b[1m"}`, `{"a":"\u0085"}`, ` {"a":"\u00a0\u2028"}` + "\n",
		`{}`, `{"` + long + `":1}`,
	} {
		g := NewWithT(t)
		g.Expect(json.Valid([]byte(arrived(data)))).To(BeFalse(), "otherwise this proves nothing")
		sent, err := userdata.Sendable(data, false)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(arrived(sent)).To(MatchJSON(data))
		g.Expect(sent).To(Equal("\t" + data))
	}
}

// A key of more than 128 characters gets a question mark.
const long = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

func TestSendable_refusesWhatNoFormIsKnownFor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		data      string
		phoneHome bool
		says      string
	}{
		"two documents of another system": {"version: v1alpha1\n---\nkind: x\n", false, "a single YAML document"},
		"a MIME message of one part": {
			"MIME-Version: 1.0\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho:    hi\n", false, "a single YAML document"},
		"phone-home and a template":    {template + "a: '{{ x }}'\n", true, "set phoneHomeEnabled to false"},
		"phone-home and one's own":     {head + "a: 1\nphone_home:\n  url: http://127.0.0.1\n", true, "set phoneHomeEnabled to false"},
		"phone-home and JSON":          {`{"ignition":{}}`, true, "set phoneHomeEnabled to false"},
		"phone-home and two documents": {head + "a: 1\n---\nb: 2\n", true, "set phoneHomeEnabled to false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := userdata.Sendable(row.data, row.phoneHome)
			g.Expect(err).To(MatchError(ContainSubstring(row.says)))
		})
	}
	g := NewWithT(t)
	for _, data := range []string{template + "a: 1\n", head + "{}\n", ""} {
		g.Expect(userdata.Sendable(data, true)).To(Equal(data), "nothing is lost in it")
	}
}

// Whatever is sent, the machine reads what was meant: the same text, the same JSON, or a cloud-config that says the same.
func FuzzSendable(f *testing.F) {
	metadata := map[string]string{"hostname": "node-1", "instance-id": "i"}
	for _, data := range []string{
		template + "write_files: [{path: /x, content: '{{ v1.local_hostname }}'}]\nruncmd: [a, [b, c]]\n",
		template + "hostname: {{ v1.local_hostname }}\n", template + "runcmd:\n- |\n  {% raw %}\n  a \n  {% endraw %}\n",
		head + "runcmd:\n- \"\\e\\N\"\n- >\n  folded\n  text\n- &a yes\n- *a\n", `{"ignition":{"version":"3.4.0"},"x":"\u001b\u0085"}`,
		`{"a":[1,{"b":"\/"}],"c":null}`, "#!/bin/sh\na: b\n", head + "? a\n: b\n---\n", "a: 1\n",
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if !utf8.ValidString(data) {
			return // refused before
		}
		sent, err := userdata.Sendable(data, false)
		if err != nil {
			return
		}
		got := arrived(sent)
		switch text, err := cloudinit.Text([]byte(got)); {
		case got == data || err == nil && text == data:
			return
		case json.Valid([]byte(data)):
			NewWithT(t).Expect(got).To(MatchJSON(data))
			return
		}
		g := NewWithT(t)
		want, wantErr := cloudinit.Parse([]byte(data), metadata)
		config, err := cloudinit.Parse([]byte(got), metadata)
		g.Expect(err == nil).To(Equal(wantErr == nil), "%v, %v: %q became %q", wantErr, err, data, got)
		g.Expect(config).To(Equal(want), "%q became %q", data, got)
	})
}
