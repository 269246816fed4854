package userdata

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// Content types of cloud-init.
const (
	jinja       = "text/jinja2"
	cloudConfig = "text/cloud-config"
)

// kinds are how user data begins, in lower case, and its content type; longer beginnings come first.
var kinds = []struct{ header, contentType string }{
	{"## template: jinja", jinja},
	{"#cloud-config-archive", "text/cloud-config-archive"},
	{"#cloud-config-jsonp", "text/cloud-config-jsonp"},
	{"#cloud-config", cloudConfig},
	{"#cloud-boothook", "text/cloud-boothook"},
	{"#part-handler", "text/part-handler"},
	{"#include-once", "text/x-include-once-url"},
	{"#include", "text/x-include-url"},
	{"#!", "text/x-shellscript"},
}

// headers are the first lines of user data that are comments to YAML, and tell cloud-init what it is.
type headers struct {
	// lines are at most two: a template's is followed by that of what is rendered.
	lines []string
	// contentType is empty if cloud-init doesn't know the header.
	contentType string
	template    bool
	// rendered is the content type of what the machine reads, behind that of a template.
	rendered string
}

func newHeaders(data string) headers {
	h := headers{}
	for line := range strings.Lines(data) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") || len(h.lines) == 2 {
			break
		}
		if line != "" {
			h.lines = append(h.lines, line)
		}
	}
	if len(h.lines) > 0 {
		h.contentType = contentTypeOf(h.lines[0])
	}
	h.template, h.rendered = h.contentType == jinja, h.contentType
	if h.template && len(h.lines) == 2 {
		h.rendered = contentTypeOf(h.lines[1])
	}
	return h
}

func contentTypeOf(line string) string {
	for _, k := range kinds {
		if strings.HasPrefix(strings.ToLower(line), k.header) {
			return k.contentType
		}
	}
	return ""
}

// wrap returns user data in a form that is no YAML, and the same to the machine; empty if there is none. JSON, which
// Ignition reads, may have a tab in front, and YAML must not. Cloud-init reads MIME multipart.
func wrap(data string) string {
	if json.Valid([]byte(data)) {
		return "\t" + data
	}
	contentType := newHeaders(data).contentType
	if contentType == "" {
		return ""
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"%[1]s\"\n\n--%[1]s\n"+
		"Content-Type: %[2]s; charset=\"utf-8\"\nContent-Transfer-Encoding: base64\n\n", boundary, contentType)
	encoded := base64.StdEncoding.EncodeToString([]byte(data)) // Python reads 8bit as ASCII
	for len(encoded) > 0 {
		line := encoded[:min(len(encoded), maxLine)]
		encoded = encoded[len(line):]
		fmt.Fprintln(text, line)
	}
	fmt.Fprintf(text, "--%s--\n", boundary)
	return text.String()
}

const (
	boundary = "bedplate-user-data" // no line of base64 has a dash
	maxLine  = 76
)
