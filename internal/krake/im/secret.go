package im

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// Keys of the Secret of a provider: either a name and a password, or a token of OpenID Connect; and ca.crt, if it isn't a public
// authority that certifies IM.
const (
	SecretKeyUsername = FieldUsername
	SecretKeyPassword = FieldPassword
	SecretKeyToken    = FieldToken
	SecretKeyCA       = httpclient.KeyCA
)

// SecretKeyDomain is the key of a user's domain in the Secret of an OpenStack: a name; Keystone's default without one.
const SecretKeyDomain = "domainName"

const (
	loginID = "im"
	cloudID = "cloud"
)

// What a client keeps of a value of a Secret's, in KiB.
const (
	maxValue  = 16
	maxBundle = 256
)

// Connect returns a function that makes a client of the IM at a URL from the Secret of its provider, after change, which may be nil, has
// modified the Config. IM works on the given clouds. Errors name the Secret and the key, and no value.
func Connect(url string, clouds []Credential, change func(*Config)) func(*corev1.Secret) (*Client, error) {
	return credentials.Builder(func(secret *corev1.Secret) (Config, error) {
		login, err := loginOf(secret)
		if err != nil {
			return Config{}, about(secret, err)
		}
		return Config{
			URL: url, Login: login, Clouds: clouds, Secret: secret.Namespace + "/" + secret.Name, CABundle: secret.Data[SecretKeyCA],
		}, nil
	}, change, New)
}

func loginOf(secret *corev1.Secret) (Credential, error) {
	if len(secret.Data[SecretKeyCA]) > maxBundle<<10 {
		return nil, fmt.Errorf("has more than %d KiB under %s", maxBundle, SecretKeyCA)
	}
	login := Credential{FieldID: loginID, FieldType: TypeIM}
	named, token := has(secret, SecretKeyUsername) || has(secret, SecretKeyPassword), has(secret, SecretKeyToken)
	switch {
	case named && token:
		return nil, fmt.Errorf("has two ways to log in: remove either %s, or %s and %s",
			SecretKeyToken, SecretKeyUsername, SecretKeyPassword)
	case named:
		return login, login.take(secret, []string{SecretKeyUsername, SecretKeyPassword})
	case token:
		if err := login.take(secret, []string{SecretKeyToken}); err != nil {
			return nil, err
		}
		if _, err := holder(login[FieldToken]); err != nil {
			return nil, fmt.Errorf("has %w", err)
		}
		return login, nil
	}
	return nil, fmt.Errorf("has no %s and %s (or %s)", SecretKeyUsername, SecretKeyPassword, SecretKeyToken)
}

// Cloud is the credential in the Secret of a cloud of any type that IM knows: each key is one of IM's fields. The key type is necessary; an
// id is too only where the template names it.
func Cloud(secret *corev1.Secret) (Credential, error) {
	c := Credential{FieldID: cloudID}
	keys := []string{FieldType}
	for key := range secret.Data {
		if key != FieldType {
			keys = append(keys, key)
		}
	}
	err := c.take(secret, keys)
	if err == nil {
		err = c.forCloud()
	}
	if err != nil {
		return nil, about(secret, err)
	}
	return c, nil
}

// OpenStack is a cloud of that type.
type OpenStack struct {
	// URL of Keystone.
	URL string
	// Version of its API: 3, or 2.
	Version string
	// Project is its name, and DomainID that of its domain; Keystone's default without one.
	Project, DomainID string
}

// authVersions are IM's names of them.
var authVersions = map[string]string{"2": "2.0_password", "3": "3.x_password"}

// Credential of the cloud, with the username and the password in a Secret.
func (o OpenStack) Credential(secret *corev1.Secret) (Credential, error) {
	version, known := authVersions[o.Version]
	parsed, err := url.Parse(o.URL)
	switch {
	case !known:
		return nil, fmt.Errorf("the version of Keystone must be 2 or 3, not %q", o.Version)
	case err != nil || parsed.Host == "" || parsed.User != nil || parsed.Scheme != "https" && parsed.Scheme != "http":
		return nil, errors.New("the url of an OpenStack must look like https://host[:port]")
	case o.Project == "":
		return nil, errors.New("the project of an OpenStack has no name")
	}
	c := Credential{FieldID: cloudID, FieldType: "OpenStack", FieldHost: o.URL, "auth_version": version, "tenant": o.Project}
	if o.DomainID != "" {
		c["tenant_domain_id"] = o.DomainID
	}
	if has(secret, SecretKeyDomain) {
		c["domain"] = valueOf(secret, SecretKeyDomain)
	}
	if err := c.take(secret, []string{FieldUsername, FieldPassword}); err != nil {
		return nil, about(secret, err)
	}
	if err := c.forCloud(); err != nil {
		return nil, about(secret, err)
	}
	return c, nil
}

// forCloud fails if IM can't use it for a cloud, or would use it for something else.
func (c Credential) forCloud() error {
	if c[FieldType] == TypeIM {
		return fmt.Errorf("has the type %s: a cloud has another one", TypeIM)
	}
	return c.validate()
}

// take the values of keys of a Secret, each of which it has to have. They are taken as they are, but for the newline at the end that files
// have.
func (c Credential) take(secret *corev1.Secret, keys []string) error {
	var lacks []string
	for _, key := range keys {
		if len(secret.Data[key]) > maxValue<<10 {
			return fmt.Errorf("has more than %d KiB under %s", maxValue, key)
		}
		if !has(secret, key) {
			lacks = append(lacks, key)
		}
		c[key] = valueOf(secret, key)
	}
	if len(lacks) > 0 {
		return errors.New("has no " + strings.Join(lacks, ", "))
	}
	return nil
}

func has(secret *corev1.Secret, key string) bool { return valueOf(secret, key) != "" }

func valueOf(secret *corev1.Secret, key string) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(secret.Data[key]), "\n"), "\r")
}

func about(secret *corev1.Secret, err error) error {
	return fmt.Errorf("secret %s/%s %w", secret.Namespace, secret.Name, err)
}
