package sim_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
)

// This is what the real service did with it, of release 1.5.0.
func TestUserData_thatParsesAsAYAMLMappingIsWrittenAgain(t *testing.T) {
	mime := "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n--b\nContent-Type: text/cloud-config\n\na:   1\n--b--\n"
	for name, row := range map[string]struct {
		sent, kept string
	}{
		"comments in front stay": {
			"## template: jinja\n#cloud-config\n\nwrite_files:\n-   path: '/x'  \n    content: |\n      {{ ds.meta_data.instance_id }} é\n",
			"## template: jinja\n#cloud-config\n\nwrite_files:\n    - path: '/x'\n      content: |\n        {{ ds.meta_data.instance_id }} é\n",
		},
		"a template outside of quotes is destroyed": {
			"#cloud-config\nhostname: {{ ds.meta_data.hostname }}\n", "#cloud-config\nhostname: {? {ds.meta_data.hostname: ''} : ''}\n",
		},
		"JSON may become invalid":           {`{"ignition":{"version":"3.4.0"},"x":"\u001b\u0085"}`, `{"ignition": {"version": "3.4.0"}, "x": "\e\N"}` + "\n"},
		"a second document is lost":         {"a: 1\n---\nb: 2\n", "a: 1\n"},
		"nothing stays nothing":             {"", ""},
		"an empty mapping becomes nothing":  {"#cloud-config\n{}\n", ""},
		"what looks like its own part goes": {"a: 1\nphone_home:\n  url: http://169.254.169.254:7777/latest/meta-data/phone_home\n", "a: 1\n"},
		"a shell script is untouched":       {"#!/bin/sh\necho   hi\n", "#!/bin/sh\necho   hi\n"},
		"MIME multipart is untouched":       {mime, mime},
		"a template of blocks is untouched": {"a:   1\n{% if x %}\n", "a:   1\n{% if x %}\n"},
		"a list is untouched":               {"#cloud-config-archive\n-   a\n", "#cloud-config-archive\n-   a\n"},
		"JSON behind a tab is untouched":    {"\t" + `{"a":"\u001b"}`, "\t" + `{"a":"\u001b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			inSimulatedTime(t, func(b bench) {
				request := instanceRequest("node-1", b.subnet(b.vpc("net"), "nodes"))
				for _, request.PhoneHomeEnabled = range []*bool{ptr.To(false), nil} {
					request.Name += "x"
					request.UserData = row.sent
					instance, err := b.client.CreateInstance(b.t.Context(), request)
					b.Expect(err).NotTo(HaveOccurred())
					b.Expect(instance.UserData).To(Equal(row.kept))
				}
			})
		})
	}
}

func TestPhoneHome_rewritesTheUserData(t *testing.T) {
	const its = "phone_home:\n    POST: all\n    url: http://169.254.169.254:7777/latest/meta-data/phone_home\n"
	for name, row := range map[string]struct {
		sent, kept string
	}{
		"its header comes above a template's": {
			"## template: jinja\n#cloud-config\nruncmd: [ 'echo hi' ]\n",
			"#cloud-config\n## template: jinja\n#cloud-config\nruncmd: ['echo hi']\n" + its,
		},
		"the old header stays below":   {"#cloud-config\n\nruncmd: []\n", "#cloud-config\n\n#cloud-config\nruncmd: []\n" + its},
		"a header of its own stays":    {"#cloud-config\nruncmd: []\n", "#cloud-config\nruncmd: []\n" + its},
		"it takes the place of others": {"#cloud-config\nphone_home: {url: http://127.0.0.1}\na: 1\n", "#cloud-config\na: 1\n" + its},
		"it comes without user data":   {"", "#cloud-config\n" + its},
	} {
		t.Run(name, func(t *testing.T) {
			inSimulatedTime(t, func(b bench) {
				request := instanceRequest("node-1", b.subnet(b.vpc("net"), "nodes"))
				request.PhoneHomeEnabled, request.UserData = ptr.To(true), row.sent
				instance, err := b.client.CreateInstance(b.t.Context(), request)
				b.Expect(err).NotTo(HaveOccurred())
				b.Expect(instance.UserData).To(Equal(row.kept))
			})
		})
	}
	t.Run("what isn't a mapping is refused", func(t *testing.T) {
		inSimulatedTime(t, func(b bench) {
			request := instanceRequest("node-1", b.subnet(b.vpc("net"), "nodes"))
			request.PhoneHomeEnabled, request.UserData = ptr.To(true), userData // Jinja outside of quotes isn't YAML
			_, err := b.client.CreateInstance(b.t.Context(), request)
			b.Expect(err).To(MatchError(ContainSubstring("userData is not accepted")))
		})
	})
}
