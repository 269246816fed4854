package im_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
)

func TestConnect_readsTheSecretOfAProvider(t *testing.T) {
	t.Parallel()
	for text, data := range map[string]map[string]string{
		"":                                      {"username": "krake", "password": "s3cret"},
		" ":                                     {"token": token("https://iss.example.com", "me", "s3cret")},
		"a token that isn't one of OpenID Conn": {"token": "s3cret"},
		"has no username and password (or toke": {"ca.crt": "s3cret"},
		"has no password":                       {"username": "krake"},
		"has no username":                       {"password": "s3cret"},
		"has two ways to log in":                {"username": "krake", "password": "s3cret", "token": "s3cret"},
		"more than 16 KiB under password":       {"username": "krake", "password": strings.Repeat("s3cret", 9000)},
		"more than 256 KiB under ca.crt":        {"token": token("https://iss.example.com", "me", ""), "ca.crt": strings.Repeat("s3cret", 90_000)},
		"ca.crt contains no certificate in PEM": {"token": token("https://iss.example.com", "me", ""), "ca.crt": "s3cret"},
		"password isn't text in UTF-8":          {"username": "krake", "password": "s3cret\xff"},
	} {
		g := NewWithT(t)
		c, err := im.Connect(endpoint, []im.Credential{dummy()}, nil)(secretOf("im", data))
		if strings.TrimSpace(text) == "" {
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.Secret()).To(Equal("team/im"))
			g.Expect(c.Namespace()).To(Equal("team"))
			g.Expect(c.Endpoint()).To(Equal("https://im.example.com"))
			g.Expect(fmt.Sprintf("%v %+v", c, c)).NotTo(ContainSubstring("s3cret"))
			continue
		}
		g.Expect(err).To(MatchError(And(ContainSubstring(text), Not(ContainSubstring("s3cret")))), text)
	}
}

func TestConnect_checksURLAndClouds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for url, text := range map[string]string{
		"":                           "im.url of the provider must look like https://",
		"http://im.example.com":      "im.url of the provider",
		"https://s3cret@example.com": "must look like https://",
		"https://im.example.com?a=b": "must look like https://",
		"https://127.0.0.1:8800":     "im.url of the provider",
	} {
		_, err := im.Connect(url, nil, nil)(loginSecret())
		g.Expect(err).To(MatchError(And(ContainSubstring(text), Not(ContainSubstring("s3cret")))), url)
	}
	loopback := func(c *im.Config) { c.Egress = egress.Policy{Loopback: true} }
	g.Expect(errorOf(im.Connect("http://127.0.0.1:8800", nil, loopback)(loginSecret()))).To(Succeed())

	_, err := im.Connect(endpoint, []im.Credential{{"id": "root", "type": im.TypeIM, "username": "root"}}, nil)(loginSecret())
	g.Expect(err).To(MatchError(ContainSubstring("a cloud can't have the type InfrastructureManager")))
	_, err = im.Connect(endpoint, []im.Credential{{"id": "im", "type": "Dummy"}}, nil)(loginSecret())
	g.Expect(err).To(MatchError(ContainSubstring("two credentials have the id im")))
	_, err = im.New(im.Config{URL: endpoint, Login: dummy()})
	g.Expect(err).To(MatchError(ContainSubstring("the login isn't one of IM")))
}

// All Clusters wait for the one whose client is being made, again each time, since it can't be.
func TestConnect_refusesTooManyCredentialsAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cloud := dummy()
	for i := range 60 {
		cloud[fmt.Sprintf("field%d", i)] = strings.Repeat("a-b\n-", 2700)
	}
	var err error
	took := processtest.CPUTime(func() { _, err = im.Connect(endpoint, []im.Credential{cloud}, nil)(loginSecret()) })
	g.Expect(err).To(MatchError(ContainSubstring("the credentials have more than 48 KiB")))
	g.Expect(took).To(BeNumerically("<", 50*time.Millisecond))
}

// token of OpenID Connect, without a valid signature.
func token(issuer, subject, more string) string {
	claims := fmt.Sprintf(`{"iss":%q,"sub":%q,"jti":%q}`, issuer, subject, more)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2lnbmF0dXJl"
}

// IM takes the issuer and the subject of a token for its user's identity: a ledger that has that tells users apart, and goes on with the
// next token of the same one.
func TestUser_ofATokenIsItsHolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(data map[string]string) *im.Client {
		return must(im.Connect(endpoint, nil, nil)(secretOf("im", data)))
	}
	user := func(text string) string { return of(map[string]string{"token": text}).User() }
	first := token("https://iss.example.com", "me", "first")
	g.Expect(user(first)).To(Equal("me of https://iss.example.com"))
	g.Expect(user(token("https://iss.example.com", "me", "second"))).To(Equal(user(first)))
	g.Expect(user(token("https://iss.example.com", "you", "first"))).NotTo(Equal(user(first)))
	g.Expect(user(token("https://other.example.com", "me", "first"))).NotTo(Equal(user(first)))
	g.Expect(of(map[string]string{"username": "me", "password": "s3cret"}).User()).To(Equal("me"))
	for name, wrong := range map[string]string{
		"opaque": "s3cret", "no issuer": token("", "s3cret", ""), "no subject": token("s3cret", "", ""), "two parts": "e30.e30", "no Base64": "a.+.c",
		"no JSON": "e30.czNjcmV0.c", "an array": "e30.W10.c", "deep": "e30." + strings.Repeat("W1tb", 4000) + ".c",
	} {
		_, err := im.Connect(endpoint, nil, nil)(secretOf("im", map[string]string{"token": wrong}))
		g.Expect(err).To(MatchError(And(ContainSubstring("secret team/im has a token that isn't"), Not(ContainSubstring("s3cret")))), name)
	}
}

func TestCloud_isWhateverIMKnows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(im.Cloud(secretOf("ec2", map[string]string{"type": "EC2\n", "username": "KEY", "password": " x \n\n"}))).To(Equal(
		im.Credential{"id": "cloud", "type": "EC2", "username": "KEY", "password": " x \n"}), "only the newline that a file ends with is cut")
	g.Expect(im.Cloud(secretOf("d", map[string]string{"type": "Dummy", "id": "sites.1"}))).To(HaveKeyWithValue("id", "sites.1"))
	for text, data := range map[string]map[string]string{
		"has no type":                         {"username": "s3cret"},
		"has the type InfrastructureManager:": {"type": "InfrastructureManager", "password": "s3cret"},
		"must begin with a letter":            {"type": "Dummy", "id": "1st"},
		`"ca.crt" can't be a field`:           {"type": "Dummy", "ca.crt": "s3cret"},
		"has no proxy":                        {"type": "Dummy", "proxy": "\n"},
		"password isn't text":                 {"type": "Dummy", "password": "s3cret\xff"},
	} {
		_, err := im.Cloud(secretOf("cloud", data))
		g.Expect(err).To(MatchError(And(
			HavePrefix("secret team/cloud "), ContainSubstring(text), Not(ContainSubstring("s3cret")),
		)), text)
	}
}

func TestOpenStack_hasTheFieldsThatIMWants(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := secretOf("os", map[string]string{"username": "me", "password": "s3cret"})
	cloud := im.OpenStack{URL: "https://keystone:5000", Version: "3", Project: "demo", DomainID: "default"}
	g.Expect(cloud.Credential(secret)).To(Equal(im.Credential{
		"id": "cloud", "type": "OpenStack", "host": "https://keystone:5000", "auth_version": "3.x_password", "username": "me",
		"password": "s3cret", "tenant": "demo", "tenant_domain_id": "default",
	}))
	named := secretOf("os", map[string]string{"username": "me", "password": "s3cret", "domainName": "Users\n"})
	g.Expect(cloud.Credential(named)).To(And(HaveKeyWithValue("domain", "Users"), HaveKeyWithValue("tenant_domain_id", "default")))
	g.Expect(im.OpenStack{URL: "http://keystone:5000", Version: "2", Project: "demo"}.Credential(secret)).To(And(
		HaveKeyWithValue("auth_version", "2.0_password"), Not(HaveKey("domain")), Not(HaveKey("tenant_domain_id"))))
	for text, change := range map[string]func(*im.OpenStack){
		"version of Keystone must be 2 or 3": func(o *im.OpenStack) { o.Version = "4" },
		"must look like https://host[:port]": func(o *im.OpenStack) { o.URL = "keystone:5000" },
		"must look like https:":              func(o *im.OpenStack) { o.URL = "https://s3cret@keystone" },
		"has no name":                        func(o *im.OpenStack) { o.Project = "" },
	} {
		wrong := cloud
		change(&wrong)
		g.Expect(errorOf(wrong.Credential(secret))).To(MatchError(And(ContainSubstring(text), Not(ContainSubstring("s3cret")))))
	}
	named.Data["domainName"] = []byte("s3cret\xff")
	g.Expect(errorOf(cloud.Credential(named))).To(MatchError("secret team/os domain isn't text in UTF-8"))
	g.Expect(errorOf(cloud.Credential(secretOf("os", nil)))).To(MatchError("secret team/os has no username, password"))
}

func TestAccount_isOfTheLogin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(data map[string]string, clouds ...im.Credential) im.Client {
		return *must(im.Connect(endpoint, clouds, nil)(secretOf("im", data)))
	}
	one := of(map[string]string{"username": "a", "password": "b"})
	same := of(map[string]string{"username": "a", "password": "b"}, dummy())
	other := of(map[string]string{"username": "a", "password": "c"})
	g.Expect(one.Account()).To(Equal(same.Account()))
	g.Expect(one.Account()).NotTo(Equal(other.Account()), "another password is another user of IM")
}

func TestCredentials_printNoValue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := im.Credential{"id": "cloud", "type": "Dummy", "password": "s3cret"}
	config := im.Config{URL: endpoint, Login: c, Clouds: []im.Credential{c}, Secret: "team/im"}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %+v %#v", config, config, config)} {
		g.Expect(text).NotTo(ContainSubstring("s3cret"))
	}
}
