package im

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// classify says what an answer of IM means that isn't a success: the only place that knows. With a template, what IM can't do is the
// template's fault: it also answers 400 whenever something goes wrong in itself.
func (r redactor) classify(template bool) func(httpclient.Answer) httpclient.Meaning {
	return func(from httpclient.Answer) httpclient.Meaning {
		said := words(from.Body)
		m := httpclient.Meaning{
			Class: fault.Transient, Text: httpclient.StatusText(from.Status),
			MayHaveWorked: from.Status >= http.StatusInternalServerError || from.Status == http.StatusBadRequest,
			Overloaded:    from.Status == http.StatusServiceUnavailable || from.Status == http.StatusGatewayTimeout,
		}
		if said != "" {
			m.Text += ": " + r.text(said)
		}
		if rule, ok := ruleOf(from); ok {
			m.Class, m.Kind = rule.class, rule.kind
			return m
		}
		switch from.Status {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			if said == "" { // the ingress of an IM that is down
				m.Kind = circuit.ErrUnreached
			}
		case http.StatusBadRequest:
			if template {
				m.Class = fault.Invalid
			}
		case http.StatusUnauthorized:
			m.Class = fault.Credentials
		case http.StatusForbidden:
			m.Class = fault.Credentials
			if said != "" {
				m.Kind, m.Hint = errOfAnother, ofAnother
			}
		case http.StatusNotFound:
			if said != "" {
				m.Class = fault.NotFound
			}
		case http.StatusConflict:
			m.Class = fault.Busy
		case http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
			m.Class = fault.Invalid
		}
		return m
	}
}

// ofAnother is the remedy of a 403. IM has no users of its own: whoever has the same name and password is the same user.
const ofAnother = " (the infrastructure belongs to another user of IM, or to this one under the password that it had before:" +
	" put back the login that made it)"

var (
	errOfAnother = errors.New("of another user")
	errNoTOSCA   = errors.New("not made of TOSCA")
)

// OfAnother reports whether an infrastructure exists, and belongs to another user of IM, or to this one under another password.
func OfAnother(err error) bool { return errors.Is(err, errOfAnother) }

// NoTOSCA reports whether an infrastructure exists that wasn't made of TOSCA: it has no template and no outputs, and isn't ours.
func NoTOSCA(err error) bool { return errors.Is(err, errNoTOSCA) }

// rule is the meaning of an answer that contains a text, in lower case.
type rule struct {
	status int
	text   string
	class  fault.Class
	kind   error
}

var rules = []rule{
	// Some releases say so in HTML.
	{http.StatusForbidden, "infrastructure property is not valid", fault.Invalid, errNoTOSCA},
	// IM is about to be stopped by its operator.
	{http.StatusForbidden, "disabled", fault.Transient, nil},
	// 404s that say nothing of the infrastructure.
	{http.StatusNotFound, "incorrect infrastructure property", fault.Invalid, nil},
	{http.StatusNotFound, "error deleting resources", fault.Transient, nil},
}

func ruleOf(from httpclient.Answer) (rule, bool) {
	text := strings.ToLower(string(from.Body))
	for _, r := range rules {
		if r.status == from.Status && strings.Contains(text, r.text) {
			return r, true
		}
	}
	return rule{}, false
}

// words of IM's own. What isn't its own, such as a proxy's page, is not repeated, and proves nothing.
func words(body []byte) string {
	var said struct{ Message string }
	if bounds.Check(body) != nil || json.Unmarshal(body, &said) != nil {
		return ""
	}
	return said.Message
}
