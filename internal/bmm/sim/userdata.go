package sim

import (
	"net/http"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

const (
	cloudConfigHeader = "#cloud-config"
	phoneHomeURL      = "http://169.254.169.254:7777/latest/meta-data/phone_home"
)

func wantsPhoneHome(request api.InstanceCreateRequest) bool {
	return ptr.Deref(request.PhoneHomeEnabled, false)
}

// phoneHome returns the user data that the service keeps: byte for byte that of the request, unless phone home is
// enabled. Then the service parses it, adds its own part and writes it anew, with #cloud-config as the first line
// and all other comments of the head below. That breaks "## template: jinja", which only works in the first line.
func phoneHome(request api.InstanceCreateRequest) (string, error) {
	if !wantsPhoneHome(request) {
		return request.UserData, nil
	}
	document := map[string]any{}
	if err := yaml.Unmarshal([]byte(request.UserData), &document); err != nil {
		return "", &apiError{
			status:  http.StatusBadRequest,
			message: "Failed to validate OperatingSystem data",
			data:    map[string]string{"userData": "userData specified in request must be valid CloudInit YAML to enable phone home"},
		}
	}
	if document == nil {
		document = map[string]any{}
	}
	document["phone_home"] = map[string]any{"url": phoneHomeURL, "post": "all"}
	body, err := yaml.Marshal(document)
	if err != nil {
		return "", refuse(http.StatusBadRequest, "failed to re-construct userData after processing phone home config")
	}
	lines := []string{cloudConfigHeader}
	for line := range strings.Lines(request.UserData) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			break
		}
		if line != cloudConfigHeader {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n" + string(body), nil
}
