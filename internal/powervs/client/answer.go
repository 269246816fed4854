package client

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// answer is one that isn't a success, of any service: each has its own format.
type answer struct {
	status int
	// code is the service's own; PowerVS and Resource Manager have none that means something.
	code    string
	message string
}

// parse an answer. What isn't a service's own, such as a proxy's page, is not repeated.
func parse(from httpclient.Answer) answer {
	a := answer{status: from.Status}
	if strings.HasPrefix(string(from.Body), "<") {
		var s3 struct {
			XMLName       xml.Name `xml:"Error"`
			Code, Message string
		}
		if xml.Unmarshal(from.Body, &s3) == nil {
			a.code, a.message = s3.Code, s3.Message
		}
		return a
	}
	var body struct {
		Errors      []struct{ Code, Message string }
		Code        json.RawMessage // of PowerVS: a number
		ErrorCode   string          `json:"error_code"`
		Message     string
		Description string
	}
	if bounds.Check(from.Body) != nil || json.Unmarshal(from.Body, &body) != nil {
		return a
	}
	a.code, a.message = body.ErrorCode, strings.Join(slices.DeleteFunc([]string{body.Description, body.Message}, isEmpty), ": ")
	if len(body.Errors) > 0 {
		a.code, a.message = body.Errors[0].Code, body.Errors[0].Message
	}
	return a
}

func isEmpty(text string) bool { return text == "" }

// String repeats nothing of the user's data.
func (a answer) String() string {
	text := httpclient.StatusText(a.status)
	if a.code != "" {
		text += ": " + a.code
	}
	if a.message != "" {
		text += ": " + a.message
	}
	return text
}

// classify an answer of any service.
func classify(from httpclient.Answer) httpclient.Meaning {
	a := parse(from)
	m := httpclient.Meaning{
		Class: a.class(), Text: a.String(), MayHaveWorked: a.status >= http.StatusInternalServerError,
		Overloaded: a.status == http.StatusGatewayTimeout,
	}
	if a.status == http.StatusForbidden && m.Class == fault.Credentials {
		m.Hint = " (does the API key have the rights to do this?)"
	}
	return m
}

// rule is the meaning of an answer with one of the codes, or whose message contains one of the texts, in lower case. The status alone
// isn't enough: a name that is taken is 400 or 409, and so is something that is in use.
type rule struct {
	codes []string
	texts []string
	class fault.Class
}

// rules are tried from top to bottom.
var rules = []rule{
	// Resource Controller.
	{codes: []string{"RC-InstanceInReclamation", "RC-InstanceRemoved"}, class: fault.NotFound},
	{texts: []string{"is in reclamation", "pending_reclamation", "pending reclamation"}, class: fault.NotFound},
	{codes: []string{"RC-OperationInProgress", "RC-InstanceNotActive", "RC-InstanceHasKeys"}, class: fault.Busy},

	// VPC.
	{codes: []string{"security_group_vpc_default", "subnet_conflict", "load_balancer_subnet_not_found"}, class: fault.Invalid},
	{codes: []string{"validation_unique_failed", "listener_duplicate_port", "member_duplicate_address_and_port"}, class: fault.Conflict},
	{codes: []string{"insufficient_address_space"}, class: fault.Quota},
	{codes: []string{"load_balancer_invalid_subnet", "security_group_in_use", "security_group_remoting_rules"}, class: fault.Busy},

	// Object Storage.
	{codes: []string{"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}, class: fault.Conflict},
	{codes: []string{"BucketNotEmpty", "OperationAborted"}, class: fault.Busy},
	{codes: []string{"TooManyBuckets"}, class: fault.Quota},

	// By their words, of PowerVS first of all, which has no codes.
	{
		texts: []string{
			"quota", "limit of", "limit has been reached", "limit exceeded", "exceeded limit", "exceeds the limit", "no free address",
			"no network is free", "insufficient capacity", "not enough",
		},
		class: fault.Quota,
	},
	{
		texts: []string{
			"already exists", "same name", "used by another load balancer", "not unique", "already connected",
		},
		class: fault.Conflict,
	},
	{texts: []string{"in use", "in progress", "is not active", "have to be deleted first"}, class: fault.Busy},
}

var classes = map[int]fault.Class{
	http.StatusUnauthorized:       fault.Credentials,
	http.StatusForbidden:          fault.Credentials,
	http.StatusNotFound:           fault.NotFound,
	http.StatusGone:               fault.NotFound,
	http.StatusConflict:           fault.Busy,
	http.StatusPreconditionFailed: fault.Busy,
	http.StatusLocked:             fault.Busy,
	http.StatusRequestTimeout:     fault.Transient,
	http.StatusTooManyRequests:    fault.Transient,
	http.StatusNotImplemented:     fault.Invalid,
}

// class of an answer.
func (a answer) class() fault.Class {
	if class := a.said(); class != "" {
		return class
	}
	if class, ok := classes[a.status]; ok && (class != fault.NotFound || a.message != "") {
		return class
	}
	if a.message == "" || a.status >= http.StatusInternalServerError {
		return fault.Transient // not the service's own words, or that it has failed
	}
	return fault.Invalid
}

// wordy are the answers to requests that were understood and refused, whose words count.
var wordy = []int{http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity}

// said is the class by the service's own words; empty if they are none of the known ones.
func (a answer) said() fault.Class {
	text := strings.ToLower(a.message)
	for _, r := range rules {
		if slices.Contains(r.codes, a.code) {
			return r.class
		}
		if slices.Contains(wordy, a.status) && slices.ContainsFunc(r.texts, func(t string) bool { return strings.Contains(text, t) }) {
			return r.class
		}
	}
	return ""
}
