package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// accessDenied is the code of most refusals.
const accessDenied = "AccessDenied"

// authenticateS3 wants a token of IAM, or a URL that was signed with an HMAC key. What has neither is 403, not 401.
func (s *objectStorage) authenticateS3(r *http.Request) error {
	if isPresigned(r) {
		return s.cloud.change(func(time.Time) error { return s.checkSignature(r) })
	}
	if s.cloud.authenticate(r) != nil {
		return refuse(http.StatusForbidden, accessDenied, "Access Denied")
	}
	return nil
}

const (
	signatureAlgorithm = "AWS4-HMAC-SHA256"
	signatureTime      = "20060102T150405Z"
	// maxExpires bounds for how long a URL can be signed, in seconds.
	maxExpires = 7 * 24 * 3600
)

func isPresigned(r *http.Request) bool { return r.URL.Query().Has("X-Amz-Signature") }

// accessKeyOf is the access key of a URL that was signed.
func accessKeyOf(r *http.Request) string {
	key, _, _ := strings.Cut(r.URL.Query().Get("X-Amz-Credential"), "/")
	return key
}

// signer is the HMAC key of an access key.
func (s *objectStorage) signer(accessKey string) (*resourceKey, bool) {
	return s.cloud.controller.keys.Find(func(k *resourceKey) bool { return accessKey != "" && k.accessKey == accessKey })
}

// checkSignature refuses a URL that has expired, or wasn't signed with a key of the account. Its times are real ones, which are those
// of clients. Cloud.mu is held.
func (s *objectStorage) checkSignature(r *http.Request) error {
	query := r.URL.Query()
	_, scope, _ := strings.Cut(query.Get("X-Amz-Credential"), "/")
	signed, err := time.Parse(signatureTime, query.Get("X-Amz-Date"))
	expires, notANumber := strconv.Atoi(query.Get("X-Amz-Expires"))
	key, known := s.signer(accessKeyOf(r))
	signsHost := slices.Contains(strings.Split(query.Get("X-Amz-SignedHeaders"), ";"), "host")
	switch parts := strings.Split(scope, "/"); {
	case !signsHost || query.Get("X-Amz-Algorithm") != signatureAlgorithm || err != nil || notANumber != nil ||
		len(parts) != 4 || parts[0] != signed.Format("20060102") || expires < 1 || expires > maxExpires:
		return refuse(http.StatusBadRequest, "AuthorizationQueryParametersError", "The query parameters of the signature are invalid.")
	case time.Now().After(signed.Add(time.Duration(expires) * time.Second)):
		return refuse(http.StatusForbidden, accessDenied, "Request has expired")
	case signed.After(time.Now().Add(15 * time.Minute)):
		return refuse(http.StatusForbidden, accessDenied, "Request is not yet valid")
	case !known:
		return refuse(http.StatusForbidden, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
	}
	if !hmac.Equal([]byte(signatureOf(r, scope, key.secretKey)), []byte(query.Get("X-Amz-Signature"))) {
		return refuse(http.StatusForbidden, "SignatureDoesNotMatch",
			"The request signature we calculated does not match the signature you provided. Check your Secret Access Key and signing method.")
	}
	return nil
}

// signatureOf is the signature, version 4, that a URL has to have.
func signatureOf(r *http.Request, scope, secret string) string {
	query := r.URL.Query()
	query.Del("X-Amz-Signature")
	names := query.Get("X-Amz-SignedHeaders")
	var headers strings.Builder
	for name := range strings.SplitSeq(names, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical := strings.Join([]string{r.Method, sentPath(r), canonicalQuery(query), headers.String(), names, "UNSIGNED-PAYLOAD"}, "\n")
	digest := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = sign(key, part)
	}
	text := strings.Join([]string{signatureAlgorithm, query.Get("X-Amz-Date"), scope, hex.EncodeToString(digest[:])}, "\n")
	return hex.EncodeToString(sign(key, text))
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func canonicalQuery(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }

// sentPath is the path as the client has sent it, whatever prefix was cut off since.
func sentPath(r *http.Request) string {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); path != "" {
		return path
	}
	return r.URL.EscapedPath()
}
