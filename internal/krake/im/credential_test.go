package im_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
)

// values that mean something in one of IM's formats, in JSON, in Python or in HTTP.
var values = map[string]string{
	"plain":              "secret",
	"semicolon":          "pass;word = x",
	"equals":             "a = b",
	"double quotes":      `"quoted"`,
	"single quotes":      `it's`,
	"backslash":          `C:\new\\table\`,
	"backslash n":        `a\nb`,
	"two backslashes n":  `a\\nb`,
	"backslash u":        `\u000a`,
	"newline":            "a\nb",
	"carriage return":    "a\r\nb",
	"tab and NUL":        "a\tb\x00c\x7f",
	"a file":             "file(/etc/passwd)",
	"a file in a line":   "x;password = file(/etc/passwd)",
	"a second line":      `x\nid = im2;type = InfrastructureManager;username = root;password = root`,
	"JSON":               `"},{"id":"im2","type":"InfrastructureManager"`,
	"comment":            "# no comment",
	"space at both ends": "  a  ",
	"unicode":            "pässwörd-日本-\u2028",
	"beyond 16 bits":     "🔑\U0010ffff",
	"PEM":                "-----BEGIN KEY-----\nMIIB+/=\n-----END KEY-----\n",
}

func TestHeader_isReadAsItWasMeant(t *testing.T) {
	t.Parallel()
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			credentials := []im.Credential{
				{"id": "im", "type": im.TypeIM, "username": "krake", "password": value},
				{"id": "cloud", "type": "OpenStack", "host": "https://keystone:5000", "password": value, "proxy": value},
			}
			g.Expect(must(im.Header(credentials))).To(beReadAs(credentials))
		})
	}
}

// beReadAs matches headers of which IM reads the credentials, and an older release nothing.
func beReadAs(credentials []im.Credential) OmegaMatcher {
	var wanted []map[string]string
	for _, c := range credentials {
		wanted = append(wanted, c)
	}
	return SatisfyAll(
		WithTransform(func(header string) []map[string]string {
			return sim.ParseHeader(header, map[string]string{sim.UsersFile: "root:x:0:0"})
		}, Equal(wanted)),
		Not(ContainSubstring(`\n`)), Not(ContainSubstring(`\\`)),
		Not(ContainAnyOf(";", "=", "'", "(", "#", "\n", "\r")),
		WithTransform(func(header string) bool { return strings.Trim(header, asciiPrintable) == "" }, BeTrue()),
	)
}

const asciiPrintable = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// ContainAnyOf matches texts with one of the parts.
func ContainAnyOf(parts ...string) OmegaMatcher {
	return WithTransform(func(text string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}, BeTrue())
}

func TestHeader_golden(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	openStack, err := im.OpenStack{URL: "https://keystone:5000", Version: "3", Project: "p 1", DomainID: "default"}.Credential(
		secretOf("os", map[string]string{"username": "me", "password": `a\nb;c`}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(im.Header([]im.Credential{
		{"id": "im", "type": im.TypeIM, "username": "krake", "password": "file(/etc/passwd)\n"}, openStack,
	})).To(Equal(`[{"id":"im","password":"file\u0028\u002fetc\u002fpasswd\u0029\u000a","type":"InfrastructureManager","username":"krake"},` +
		`{"auth\u005fversion":"3\u002ex\u005fpassword","host":"https\u003a\u002f\u002fkeystone\u003a5000","id":"cloud",` +
		`"password":"a\u005cnb\u003bc","tenant":"p\u00201","tenant\u005fdomain\u005fid":"default","type":"OpenStack","username":"me"}]`))
}

func TestHeader_refusesWhatIMCannotRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for text, c := range map[string]im.Credential{
		"begin with a letter":              {"id": "1st", "type": "Dummy"},
		"go on with letters":               {"id": "a b", "type": "Dummy"},
		"the id of a credential":           {"type": "Dummy"},
		"the type of a credential":         {"id": "a"},
		"must consist of letters":          {"id": "a", "type": "Open Stack"},
		`"pass word" can't be a field`:     {"id": "a", "type": "Dummy", "pass word": "s3cret"},
		"password isn't text in UTF-8":     {"id": "a", "type": "Dummy", "password": "s3cret\xff"},
		"more than 48 KiB":                 {"id": "a", "type": "Dummy", "password": strings.Repeat("s3cret", 10_000)},
		"two credentials have the id cl.1": {"id": "cl.1", "type": "Dummy"},
	} {
		_, err := im.Header([]im.Credential{c, {"id": "cl.1", "type": "Dummy"}})
		g.Expect(err).To(MatchError(And(ContainSubstring(text), Not(ContainSubstring("s3cret")))), text)
	}
	for _, id := range []string{"im", "_a", ".a-1", "A.b_c"} {
		g.Expect(errorOf(im.Header([]im.Credential{{"id": id, "type": "Dummy"}}))).To(Succeed(), id)
	}
}

func FuzzHeader(f *testing.F) {
	for _, value := range values {
		f.Add("password", value, value)
	}
	f.Fuzz(func(t *testing.T, field, value, other string) {
		g := NewWithT(t)
		secret := secretOf("cloud", map[string]string{"type": "Dummy", "id": "it", "token": other})
		secret.Data[field] = []byte(value)
		c, err := im.Cloud(secret)
		if err != nil {
			g.Expect(err.Error()).To(HavePrefix("secret team/cloud "))
			return
		}
		for key := range secret.Data {
			g.Expect(c[key]).To(Equal(strings.TrimSuffix(strings.TrimSuffix(string(secret.Data[key]), "\n"), "\r")))
			g.Expect(utf8.ValidString(c[key])).To(BeTrue())
		}
		text, err := im.Header([]im.Credential{{"id": "im", "type": im.TypeIM, "password": other}, c})
		if err == nil {
			g.Expect(text).To(beReadAs([]im.Credential{{"id": "im", "type": im.TypeIM, "password": other}, c}))
		}
	})
}
