package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// answer is an error answer: {"source", "message", "data"}.
type answer struct {
	status  int
	message string
	fields  map[string]string
}

func parseAnswer(status int, body []byte) answer {
	var parsed struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	// A body that isn't the service's own (a proxy's page) is not repeated.
	if bounds.Check(body) != nil || json.Unmarshal(body, &parsed) != nil {
		return answer{status: status}
	}
	a := answer{status: status, message: parsed.Message, fields: map[string]string{}}
	var data map[string]any
	if json.Unmarshal(parsed.Data, &data) == nil {
		for key, value := range data {
			if text, ok := value.(string); ok {
				a.fields[key] = text
			}
		}
	}
	return a
}

// String repeats nothing of the user's data.
func (a answer) String() string {
	text := httpclient.StatusText(a.status)
	if a.message != "" {
		text += ": " + a.message
	}
	for _, field := range slices.Sorted(maps.Keys(a.fields)) {
		switch field {
		case "id": // OtherID
		case "userData":
			text += "; userData is not accepted"
		default:
			text += fmt.Sprintf("; %s: %s", field, a.fields[field])
		}
	}
	return text
}

func (a answer) otherID(class fault.Class) string {
	if class != fault.Conflict {
		return ""
	}
	return a.fields["id"]
}
