package sim

import (
	"net/http"
	"slices"

	"gopkg.in/yaml.v3" // what the service itself has: how it writes YAML is the point here
	"k8s.io/utils/ptr"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

const (
	cloudConfigHeader = "#cloud-config"
	phoneHomeKey      = "phone_home"
	phoneHomeURL      = "http://169.254.169.254:7777/latest/meta-data/phone_home"
)

func wantsPhoneHome(request api.InstanceCreateRequest) bool {
	return ptr.Deref(request.PhoneHomeEnabled, false)
}

// keptUserData returns the user data that the service keeps. What parses as a YAML mapping it writes again in its own way, of
// several documents only the first; so what only looks like YAML is destroyed. With phone home it adds its own part, and
// #cloud-config in front unless just that is there already, which breaks "## template: jinja": that only works in the first
// line. All else is kept byte for byte.
func keptUserData(request api.InstanceCreateRequest) (string, error) {
	phonesHome := wantsPhoneHome(request)
	document := &yaml.Node{}
	err := yaml.Unmarshal([]byte(request.UserData), document)
	switch {
	case request.UserData == "" && phonesHome:
		document.Kind, document.Content = yaml.DocumentNode, []*yaml.Node{{Kind: yaml.MappingNode}}
	case err == nil && len(document.Content) > 0 && document.Content[0].Kind == yaml.MappingNode:
	case !phonesHome:
		return request.UserData, nil
	default:
		return "", &apiError{
			status:  http.StatusBadRequest,
			message: "Failed to validate OperatingSystem data",
			data:    map[string]string{"userData": "userData specified in request must be valid CloudInit YAML to enable phone home"},
		}
	}
	root := document.Content[0]
	removePhoneHome(root, phonesHome)
	if phonesHome {
		addPhoneHome(root)
	}
	if len(root.Content) == 0 {
		return "", nil
	}
	kept, err := yaml.Marshal(document)
	if err != nil {
		return "", refuse(http.StatusBadRequest, "failed to re-construct userData after processing phone home config")
	}
	return string(kept), nil
}

// removePhoneHome takes out the service's own part, or all that there are.
func removePhoneHome(root *yaml.Node, all bool) {
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Value == phoneHomeKey && value.Kind == yaml.MappingNode && (all || valueOf(value, "url") == phoneHomeURL) {
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
}

func valueOf(mapping *yaml.Node, key string) string {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1].Value
		}
	}
	return ""
}

func addPhoneHome(root *yaml.Node) {
	text := func(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }
	root.Content = append(root.Content, text(phoneHomeKey), &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		text("POST"), text("all"), text("url"), text(phoneHomeURL),
	}})
	isHeader := func(n *yaml.Node) bool { return n.HeadComment == cloudConfigHeader }
	if root.HeadComment == "" && !slices.ContainsFunc(root.Content, isHeader) {
		root.HeadComment = cloudConfigHeader
	}
}
