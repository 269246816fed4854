package im

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/printable"
)

// plain are the fields that everybody may see who sees a Cloud. All others are taken out of texts, known ones or not.
var plain = []string{
	FieldID, FieldType, FieldHost, "auth_version", "api_version", "tenant", "tenant_domain_id", "project", "domain", "service_region", "service_name",
	"base_url", "network_url", "image_url", "volume_url", "namespace", "region",
}

// minSecret is how long a value has to be, in bytes, to be taken out of a text without showing what it was by where it is missing.
const minSecret = 4

const redacted = "[redacted]"

// redactor takes credentials out of what IM says: its log and its errors repeat what its libraries say, and those what they were told.
type redactor struct {
	// forms in which a value may be repeated, the longest first, since one may be a part of another.
	forms []string
	// short values: a text that has one is left out.
	short []string
}

func newRedactor(credentials []Credential) redactor {
	var r redactor
	for _, c := range credentials {
		for field, value := range c {
			switch {
			case value == "" || slices.Contains(plain, field):
			case len(value) >= minSecret:
				r.forms = append(r.forms, formsOf(value)...)
			case field != FieldUsername: // "im" is in too many words, and no secret
				r.short = append(r.short, value)
			}
		}
	}
	slices.SortFunc(r.forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.forms = slices.Compact(r.forms)
	return r
}

// formsOf a value: as it is, by line, and as JSON, JSON in JSON, Python, a URL, XML, HTML and Base64 write it.
func formsOf(value string) []string {
	text, _ := json.Marshal(value) // can't fail
	python := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "'", `\'`).Replace(value)
	forms := []string{
		value, strings.Trim(quote(value), `"`), string(text[1 : len(text)-1]), asciiJSON(value), asciiJSON(asciiJSON(value)), python,
		url.QueryEscape(value), url.PathEscape(value), html.EscapeString(value), xml.Replace(value),
		base64.StdEncoding.EncodeToString([]byte(value)),
	}
	forms = append(forms, within64(value)...)
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= minSecret {
			forms = append(forms, line)
		}
	}
	return forms
}

// xml as Python writes it: in a text, quotes stay.
var xml = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// within64 are a value's own characters in the Base64 of a longer text, such as of the name and the password that are sent as a login: in
// one of three forms, by how many bytes are before it.
func within64(value string) (forms []string) {
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := encoding.EncodeToString(append(make([]byte, before), value...))
			forms = append(forms, text[(8*before+5)/6:8*(before+len(value))/6])
		}
	}
	return forms
}

// asciiJSON is a text as json.dumps writes it in Python, without the quotes.
func asciiJSON(value string) string {
	var b strings.Builder
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r > '~':
			b.WriteString(strings.Trim(quote(string(r)), `"`))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// leftOut stands for a text that contains a credential which may be in any text.
var leftOut = fmt.Sprintf("[left out: it contains a credential of less than %d characters]", minSecret)

func (r redactor) leavesOut(text string) bool {
	return slices.ContainsFunc(r.short, func(short string) bool { return strings.Contains(text, short) })
}

// text without credentials.
func (r redactor) text(text string) string {
	if r.leavesOut(text) {
		return leftOut
	}
	return shown(r.holed(text))
}

// holed is a text with a hole in place of each credential, of its length.
func (r redactor) holed(text string) string {
	for _, form := range r.forms {
		if strings.Contains(text, form) {
			text = strings.ReplaceAll(text, form, hole+strings.Repeat(more, len(form)-1))
		}
	}
	return text
}

// A hole is where a credential was, and more the rest of it, until all are out: in what says so for people, others might be found. In UTF-8
// both are nothing.
const hole, more = "\xff", "\xfe"

func shown(holed string) string {
	return strings.ReplaceAll(strings.ReplaceAll(holed, more, ""), hole, redacted)
}

// maxSearched is how much of a log is searched for credentials: there may be thousands of forms.
const maxSearched = 64 << 10

// end of a log without credentials. Where the search begins a part of one may be left, which is cut off.
func (r redactor) end(log string) string {
	longest := 0
	if len(r.forms) > 0 {
		longest = len(r.forms[0])
	}
	if len(log) <= maxSearched+longest {
		return r.text(log)
	}
	if log = log[len(log)-maxSearched-longest:]; r.leavesOut(log) {
		return leftOut
	}
	holed := r.holed(log)
	return shown(holed[min(longest, len(holed)-1):])
}

// colours of a terminal, which Ansible writes.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// lastLines of a log, without credentials and without what isn't text, each bounded. Credentials are taken out first: a cut could leave a
// part of one.
func (r redactor) lastLines(log string, number int) []string {
	var lines []string
	left := r.end(strings.TrimSpace(colours.ReplaceAllString(log, "")))
	for len(lines) < number { // from the end: a log may have millions
		left = strings.TrimSpace(left)
		if left == "" {
			break
		}
		line := left[strings.LastIndexByte(left, '\n')+1:]
		left = left[:len(left)-len(line)]
		lines = append(lines, bounds.Shorten(printable.Text(strings.ReplaceAll(strings.TrimSpace(line), "\t", " "))))
	}
	slices.Reverse(lines)
	return lines
}
