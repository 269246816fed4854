package sim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/simulator"
)

// ParseHeader reads the header Authorization as IM does, with its hazards: whatever the format, it first replaces the characters \\n by a
// newline and splits at the characters \n. Then one line may be a JSON array; others are "k = v" separated by ";", where quotes are taken
// out, all after something else than "k = v" is left out, and file(PATH) is replaced by a file of the server's.
func ParseHeader(header string, files map[string]string) []map[string]string {
	header = latin1(header)
	if login, ok := schemeOf(header); ok {
		return []map[string]string{login}
	}
	lines := strings.Split(strings.ReplaceAll(header, `\\n`, "\n"), `\n`)
	if len(lines) == 1 {
		if all, ok := parseJSON(lines[0]); ok {
			return all
		}
	}
	var all []map[string]string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, parseLine(line, files))
		}
	}
	return all
}

// latin1 is how a server reads the bytes of a header.
func latin1(header string) string {
	runes := make([]rune, 0, len(header))
	for _, b := range []byte(header) {
		runes = append(runes, rune(b))
	}
	return string(runes)
}

// schemeOf reads HTTP's own schemes, which have no clouds.
func schemeOf(header string) (map[string]string, bool) {
	if token, ok := strings.CutPrefix(header, "Bearer "); ok {
		return map[string]string{im.FieldType: im.TypeIM, im.FieldToken: strings.TrimSpace(token)}, true
	}
	if basic, ok := strings.CutPrefix(header, "Basic "); ok {
		text, _ := base64.StdEncoding.DecodeString(basic)
		username, password, _ := strings.Cut(string(text), ":")
		return map[string]string{im.FieldType: im.TypeIM, im.FieldUsername: username, im.FieldPassword: password}, true
	}
	return nil, false
}

func parseJSON(line string) ([]map[string]string, bool) {
	var parsed []map[string]any
	if json.Unmarshal([]byte(line), &parsed) != nil {
		return nil, false
	}
	all := make([]map[string]string, 0, len(parsed))
	for _, fields := range parsed {
		one := map[string]string{}
		for field, value := range fields {
			one[field] = fmt.Sprint(value)
		}
		all = append(all, one)
	}
	return all, true
}

func parseLine(line string, files map[string]string) map[string]string {
	one := map[string]string{}
	for _, token := range splitLine(line) {
		pair := strings.Split(token, " = ")
		if len(pair) != 2 {
			break
		}
		value := strings.ReplaceAll(strings.TrimSpace(pair[1]), `\n`, "\n")
		if file, ok := strings.CutPrefix(value, "file("); ok && strings.HasSuffix(file, ")") {
			if content, exists := files[strings.TrimSuffix(file, ")")]; exists {
				value = content
			}
		}
		one[strings.TrimSpace(pair[0])] = value
	}
	return one
}

// splitLine at each ";" that isn't in quotes. Quotes are left out.
func splitLine(line string) []string {
	var tokens []string
	var token strings.Builder
	var quote rune
	for _, char := range line {
		switch {
		case (char == '"' || char == '\'') && (quote == 0 || quote == char):
			quote ^= char
		case char == ';' && quote == 0:
			tokens = append(tokens, token.String())
			token.Reset()
		default:
			token.WriteRune(char)
		}
	}
	if strings.TrimSpace(token.String()) != "" {
		tokens = append(tokens, token.String())
	}
	return tokens
}

// login is whose call it is, and for which cloud.
type login struct {
	// user is the same for the same credential, whatever its ID.
	user string
	// name is shown; empty with a token.
	name string
	// cloud is the first credential that isn't IM's own; nil without one.
	cloud map[string]string
}

var idPattern = regexp.MustCompile(`^[a-zA-Z_.][\w.-]*$`)

// authenticate a request by its header.
func (s *Server) authenticate(r *http.Request) (login, error) {
	all := ParseHeader(r.Header.Get("Authorization"), s.config.Files)
	if len(all) == 0 {
		return login{}, refuse(http.StatusUnauthorized, "No authentication data provided")
	}
	var who login
	for _, one := range all {
		if id, has := one[im.FieldID]; has && !idPattern.MatchString(id) {
			return login{}, refuse(http.StatusInternalServerError, "Internal Server Error")
		}
		switch {
		case one[im.FieldType] == im.TypeIM && who.user == "":
			who.user, who.name = userOf(one), one[im.FieldUsername]
			if !s.lets(one) {
				return login{}, refuse(http.StatusUnauthorized, "Invalid InfrastructureManager credentials")
			}
		case one[im.FieldType] != im.TypeIM && one[im.FieldType] != "" && who.cloud == nil:
			who.cloud = one
		}
	}
	if who.user == "" {
		return login{}, refuse(http.StatusUnauthorized, "Invalid InfrastructureManager credentials")
	}
	return who, nil
}

// lets a user in.
func (s *Server) lets(one map[string]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one[im.FieldToken] != "" || len(s.users) == 0 {
		return holder(one[im.FieldToken]) != "" || one[im.FieldUsername] != "" && one[im.FieldPassword] != ""
	}
	password, known := s.users[one[im.FieldUsername]]
	return known && password == one[im.FieldPassword]
}

// userOf a credential: its fields, or the holder of its token.
func userOf(one map[string]string) string {
	if one[im.FieldToken] != "" {
		return holder(one[im.FieldToken])
	}
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(one)) {
		if field != im.FieldID {
			fields = append(fields, fmt.Sprintf("%q=%q", field, one[field]))
		}
	}
	return strings.Join(fields, " ")
}

// holder of a token of OpenID Connect, by its issuer and its subject; empty for another kind of token.
func holder(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Iss, Sub string }
	if json.Unmarshal(payload, &claims) != nil || claims.Iss == "" || claims.Sub == "" {
		return ""
	}
	return claims.Iss + claims.Sub
}

func refuse(status int, format string, args ...any) *simulator.Refusal {
	return &simulator.Refusal{Status: status, Message: fmt.Sprintf(format, args...)}
}
