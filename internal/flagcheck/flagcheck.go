// Package flagcheck refuses, when a program starts, values of flags that would make it panic or hang later, or that would
// silently turn a guarantee off.
package flagcheck

import (
	"fmt"
	"net"
	"regexp"
	"strings"
)

// namespaces have names that are DNS labels. Kubernetes' own validation would come with more than an agent on a DPU has memory for.
var namespaces = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// That a flag has an allowed value. If it doesn't, the error names the flag, the value and what is allowed.
func That(flag string, value any, ok bool, allowed string) error {
	if ok {
		return nil
	}
	format := "--%s=%v: must be %s"
	if _, text := value.(string); text {
		format = "--%s=%q: must be %s"
	}
	return fmt.Errorf(format, flag, value, allowed)
}

// Namespace that a flag names.
func Namespace(flag, value string) error {
	return That(flag, value, namespaces.MatchString(value), "the name of a namespace")
}

// Address that a flag says to listen at. Some values turn that off.
func Address(flag, value string, off ...string) error {
	allowed := "HOST:PORT or :PORT"
	for _, each := range off {
		if value == each {
			return nil
		}
		allowed += fmt.Sprintf(", or %q to turn it off", each)
	}
	_, port, err := net.SplitHostPort(value)
	return That(flag, value, err == nil && port != "" && !strings.ContainsAny(value, " /"), allowed)
}
