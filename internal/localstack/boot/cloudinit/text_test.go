package cloudinit

import (
	"encoding/base64"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func message(parts ...string) string {
	text := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n"
	for _, part := range parts {
		text += "--b\n" + part + "\n"
	}
	return text + "--b--\n"
}

func TestParse_readsTheOnlyPartOfAMIMEMessage(t *testing.T) {
	t.Parallel()
	const text = "## template: jinja\n#cloud-config\nruncmd: ['{{ ds.meta_data.asn }} é']\n"
	packed := base64.StdEncoding.EncodeToString([]byte(text))
	for name, userData := range map[string]string{
		"base64": message("Content-Type: text/jinja2; charset=\"utf-8\"\nContent-Transfer-Encoding: base64\n\n" + packed[:40] + "\n" + packed[40:]),
		"7bit":   message("Content-Type: text/jinja2\nContent-Transfer-Encoding: 7bit\n\n" + text),
		"plain":  message("Content-Type: text/plain\n\n" + text),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			config, err := Parse([]byte(userData), metadata)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.RunCommands).To(Equal([]string{metadata["asn"] + " é"}))
		})
	}
}

func TestParse_refusesAMIMEMessageThatItCannotRead(t *testing.T) {
	t.Parallel()
	part := "Content-Type: text/cloud-config\n\n#cloud-config\n{}\n"
	for name, row := range map[string]struct{ userData, says string }{
		"two parts":        {message(part, part), "more than one part"},
		"a script":         {message("Content-Type: text/x-shellscript\n\n#!/bin/sh\n"), "doesn't begin with"},
		"another type":     {message("Content-Type: text/html\n\n#cloud-config\n"), `"text/html"`},
		"another encoding": {message("Content-Transfer-Encoding: quoted-printable\n" + part), `"quoted-printable"`},
		"no multipart":     {"MIME-Version: 1.0\n" + part, `"text/cloud-config"`},
		"no part":          {message(), "EOF"},
		"no message":       {"#cloud-config\n# mime-version: 1.0\n", "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(row.userData), metadata)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.says)), fmt.Sprintf("%q", row.userData))
		})
	}
}
