// Package userdata passes user data through the BMM API unchanged. The service doesn't leave it alone: whatever parses as a
// YAML mapping it writes again, with the library that is used here. Shell scripts, MIME multipart and what isn't YAML stay as
// they are.
package userdata

import (
	"encoding/json"
	"errors"
	"slices"

	"gopkg.in/yaml.v3"
)

// Sendable returns what to send so that a machine reads the same as in the data: the data itself, where the service leaves
// it alone or what it writes means the same; else the data in a form that the service doesn't touch. The error says what the
// remedy is where there is none, and nothing of the data.
func Sendable(data string, phoneHome bool) (string, error) {
	written, touched := rewrite(data, phoneHome)
	arrives := !touched || written == data || same(data, written)
	switch {
	case phoneHome && (!arrives || json.Valid([]byte(data)) || newHeaders(data).template && rendered.MatchString(data)):
		return "", errors.New("with phoneHomeEnabled the BMM API rewrites the user data and puts #cloud-config in front, which would " +
			"change its meaning: set phoneHomeEnabled to false")
	case arrives:
		return data, nil
	}
	if form := wrap(data); form != "" {
		if _, touched := rewrite(form, phoneHome); !touched {
			return form, nil
		}
	}
	return "", errors.New("the BMM API reformats YAML, which would change the meaning of this user data: make it a single YAML document " +
		"without parts that only look like YAML, or start it with a cloud-init header such as #cloud-config")
}

// phoneHomeURL is in the service's own part of user data.
const phoneHomeURL = "http://169.254.169.254:7777/latest/meta-data/phone_home"

// rewrite does what the service does with user data, but for adding its own part, and reports whether it does anything.
func rewrite(data string, phoneHome bool) (written string, touched bool) {
	document := &yaml.Node{}
	err := yaml.Unmarshal([]byte(data), document)
	if err != nil || len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return data, false
	}
	root := document.Content[0]
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		var part struct{ URL string }
		isPart := root.Content[i].Value == "phone_home" && root.Content[i+1].Kind == yaml.MappingNode
		if isPart && (phoneHome || root.Content[i+1].Decode(&part) == nil && part.URL == phoneHomeURL) {
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
	if len(root.Content) == 0 && !phoneHome {
		return "", true
	}
	text, err := yaml.Marshal(document)
	if err != nil { // the service refuses it then
		return "", true
	}
	return string(text), true
}
