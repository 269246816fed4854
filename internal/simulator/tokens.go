package simulator

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Why a request isn't authenticated.
var (
	ErrNoToken      = errors.New("there is no token")
	ErrTokenExpired = errors.New("the token has expired")
	ErrTokenUnknown = errors.New("the token is unknown")
)

// Tokens are the bearer tokens that a service knows, each with what it grants. Their lifetimes are in real time.
type Tokens[G any] struct {
	mu  sync.Mutex
	all []token[G]
}

type token[G any] struct {
	value   string
	grant   G
	expires time.Time // zero means never
}

// Add a token that is valid until a time, in place of any with that value; the zero time is for ever.
func (t *Tokens[G]) Add(value string, grant G, expires time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(known token[G]) bool { return known.value == value })
	t.all = append(t.all, token[G]{value, grant, expires})
}

// Replace all tokens, at once, by those of a map. They don't expire.
func (t *Tokens[G]) Replace(grants map[string]G) {
	var all []token[G]
	for value, grant := range grants {
		all = append(all, token[G]{value: value, grant: grant})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = all
}

// Expire lets all tokens expire that there are.
func (t *Tokens[G]) Expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.all {
		t.all[i].expires = time.Now()
	}
}

// Grant is what the token of a request grants.
func (t *Tokens[G]) Grant(r *http.Request) (grant G, err error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return grant, ErrNoToken
	}
	value, isBearer := strings.CutPrefix(header, "Bearer ")
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.all {
		if !isBearer || subtle.ConstantTimeCompare([]byte(value), []byte(known.value)) != 1 {
			continue
		}
		if !known.expires.IsZero() && !time.Now().Before(known.expires) {
			return grant, ErrTokenExpired
		}
		return known.grant, nil
	}
	return grant, ErrTokenUnknown
}

// defaultLifetime is that of an issued token.
const defaultLifetime = 5 * time.Minute

// Issuer is a token endpoint for OAuth2's client credentials grant. Each token is a JWT.
type Issuer struct {
	// Lifetime of a token; default 5 minutes.
	Lifetime time.Duration
	// Claims returns a client's own claims, or that there is no such client. Issue is called with each new token.
	Claims func(r *http.Request, clientID, secret string) (claims map[string]any, known bool)
	Issue  func(clientID, token string, expires time.Time)

	once sync.Once
	key  []byte
}

// ServeHTTP is the token endpoint. The client's credentials are in the header or in the form.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	id, secret, inHeader := r.BasicAuth()
	if !inHeader {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	claims, known := i.Claims(r, id, secret)
	switch {
	case !known:
		refuseToken(w, http.StatusUnauthorized, "invalid_client", "Invalid client or Invalid client credentials")
		return
	case r.PostFormValue("grant_type") != "client_credentials":
		refuseToken(w, http.StatusBadRequest, "unsupported_grant_type", "Unsupported grant_type")
		return
	}
	lifetime := i.Lifetime
	if lifetime == 0 {
		lifetime = defaultLifetime
	}
	expires := time.Now().Add(lifetime)
	value := i.sign(id, claims, expires)
	i.Issue(id, value, expires)
	w.Header().Set("Cache-Control", "no-store")
	WriteJSON(w, map[string]any{
		"access_token": value, "token_type": "Bearer", "expires_in": int(lifetime.Seconds()), "scope": "profile email",
	})
}

// sign makes a client's token.
func (i *Issuer) sign(clientID string, own map[string]any, expires time.Time) string {
	i.once.Do(func() { i.key = []byte(rand.Text()) })
	claims := map[string]any{"sub": clientID, "clientId": clientID}
	maps.Copy(claims, own)
	return JWT(i.key, claims, expires)
}

// JWT is a token with these claims and those that all have, signed with a key.
func JWT(key []byte, own map[string]any, expires time.Time) string {
	encode := func(part any) string {
		data, _ := json.Marshal(part) // can't fail: strings and numbers only
		return base64.RawURLEncoding.EncodeToString(data)
	}
	claims := map[string]any{"jti": rand.Text(), "iat": time.Now().Unix(), "exp": expires.Unix()}
	maps.Copy(claims, own)
	unsigned := encode(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + encode(claims)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(unsigned))
	return strings.Join([]string{unsigned, base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}, ".")
}

func refuseToken(w http.ResponseWriter, status int, code, description string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": description})
}
