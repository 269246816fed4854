package client

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// classify the answers to a call, which may have rules of its own.
func classify(own []rule) func(httpclient.Answer) httpclient.Meaning {
	return func(from httpclient.Answer) httpclient.Meaning {
		a := parseAnswer(from.Status, from.Body)
		class := a.class(own)
		m := httpclient.Meaning{
			Class: class, Text: a.String(), OtherID: a.otherID(class), MayHaveWorked: a.mayHaveWorked(),
			// The rest are about the object, not the server.
			Overloaded: class == fault.Busy && a.status >= http.StatusInternalServerError || a.status == http.StatusGatewayTimeout,
		}
		if a.status == http.StatusNotFound && (a.message == "" || a.wrongPath()) {
			m.Hint = " (are endpoint, orgName and apiName right?)"
		}
		switch {
		case class == fault.Credentials && a.lacksRole():
			m.Kind = errLacksRole
		case a.wrongPath():
			m.Kind = errWrongPath
		}
		return m
	}
}

var (
	// errWrongPath is the answer to everything under a wrong path.
	errWrongPath = errors.New("wrong path")
	// errLacksRole is the refusal of a call of an authenticated user.
	errLacksRole = errors.New("lacks a role")
)

// wrongPath is the service's answer to every path that it doesn't know, before it checks the token.
const wrongPath = "requested path could not be found"

func (a answer) wrongPath() bool {
	return a.status == http.StatusNotFound && strings.Contains(strings.ToLower(a.message), wrongPath)
}

// LacksRole reports whether the credentials were refused for this one call, because it needs another role.
func LacksRole(err error) bool { return errors.Is(err, errLacksRole) }

func (a answer) lacksRole() bool {
	return a.status == http.StatusForbidden && strings.Contains(strings.ToLower(a.message), "role")
}

// mayHaveWorked reports whether the work may be done, or still be in progress, in spite of the answer.
func (a answer) mayHaveWorked() bool {
	return a.status >= 500 || strings.Contains(strings.ToLower(a.message), "workflow")
}

// rule is the meaning of an answer whose message contains one of the texts, in lower case. The status alone isn't enough:
// a VPC that is still in use is 400, like a misspelled field.
type rule struct {
	status int
	texts  []string
	class  fault.Class
}

// rules are tried from top to bottom. The texts are those of the service's releases 1.0 and 1.5.
var rules = []rule{
	{http.StatusBadRequest, []string{"cannot be deleted directly"}, fault.Invalid},
	{http.StatusBadRequest, []string{
		"no machines are available", "is assigned to an instance", "is missing on site", "does not allow instance creation",
		"it can be provisioned by setting", "set `allowunhealthymachine`", "ipam entry",
	}, fault.Quota},
	{http.StatusBadRequest, []string{"registered state"}, fault.Transient},
	{http.StatusBadRequest, []string{
		"cannot delete", "cannot be deleted", "unable to delete", "exist for allocation", "exist for this allocation",
		"deleting this allocation",
		"in ready state", "is not ready",
	}, fault.Busy},

	// The user was authenticated, but his record couldn't be written.
	{http.StatusUnauthorized, []string{"db error"}, fault.Transient},

	// A refusal by the site, not of the token.
	{http.StatusForbidden, []string{"workflow"}, fault.Invalid},
	{http.StatusForbidden, []string{
		"maximum number", "quota", "does not have any allocations", "does not have access to site",
		"does not have access to this site",
	}, fault.Quota},
	{http.StatusForbidden, []string{"in ready state", "already being used"}, fault.Busy},
	{http.StatusForbidden, []string{
		"role with org", "roles assigned", "membership for org", "token", "not authorized", "unauthorized",
	}, fault.Credentials},

	// 404s that say nothing of the requested object: the path is wrong, the organisation has nothing yet, or the site
	// doesn't know what the service does.
	{http.StatusNotFound, []string{wrongPath, "tenant for org", "provider for org", "workflow"}, fault.Transient},

	{http.StatusPreconditionFailed, []string{"capability"}, fault.Invalid},

	{http.StatusInternalServerError, []string{"no allocations for"}, fault.Quota},
	// Nothing was started: another request had the lock.
	{http.StatusInternalServerError, []string{"multiple parallel request", "failed to lock", "unable to acquire"}, fault.Busy},
}

var classes = map[int]fault.Class{
	http.StatusUnauthorized:       fault.Credentials,
	http.StatusForbidden:          fault.Invalid, // another tenant's object, not a bad token: the message names it
	http.StatusNotFound:           fault.NotFound,
	http.StatusConflict:           fault.Conflict,
	http.StatusPreconditionFailed: fault.Busy,
	http.StatusRequestTimeout:     fault.Transient,
	http.StatusTooManyRequests:    fault.Transient,
	http.StatusNotImplemented:     fault.Invalid,
}

// class of the answer to a call, which may have its own rules.
func (a answer) class(own []rule) fault.Class {
	message := strings.ToLower(a.message)
	for _, r := range slices.Concat(own, rules) {
		if r.status == a.status && slices.ContainsFunc(r.texts, func(t string) bool { return strings.Contains(message, t) }) {
			return r.class
		}
	}
	if a.status == http.StatusNotFound && message == "" {
		return fault.Transient // not the service's own words
	}
	if class, ok := classes[a.status]; ok {
		return class
	}
	if a.status >= 500 {
		return fault.Transient
	}
	return fault.Invalid
}
