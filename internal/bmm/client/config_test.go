package client_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/bmm/client"
)

func TestNew_refusesWhatCantWork(t *testing.T) {
	t.Parallel()
	good := client.Config{Endpoint: "https://bmm.example.com/api", Org: "acme", Token: token}
	for name, row := range map[string]struct {
		change func(*client.Config)
		says   string
	}{
		"good":                     {func(*client.Config) {}, ""},
		"http on loopback":         {func(c *client.Config) { c.Endpoint = "http://127.77.0.1:8080" }, ""},
		"nico":                     {func(c *client.Config) { c.APIName = "nico" }, ""},
		"http to the world":        {func(c *client.Config) { c.Endpoint = "http://bmm.example.com" }, "https"},
		"no host":                  {func(c *client.Config) { c.Endpoint = "bmm.example.com" }, "endpoint"},
		"password in the endpoint": {func(c *client.Config) { c.Endpoint = "https://u:p@bmm.example.com" }, "endpoint"},
		"no org":                   {func(c *client.Config) { c.Org = "" }, "org"},
		"no token":                 {func(c *client.Config) { c.Token = "" }, "token"},
		"token with a line break":  {func(c *client.Config) { c.Token = token + "\n" }, "token"},
		"API name with a slash":    {func(c *client.Config) { c.APIName = "a/b" }, "apiName"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			config := good
			row.change(&config)
			_, err := client.New(config)
			if row.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring(row.says), Not(ContainSubstring(token)))))
		})
	}
}

func TestFromSecret_namesTheMissingKeys(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bmm"},
		Data:       map[string][]byte{"endpoint": []byte("https://bmm.example.com"), "token": []byte(" \n")},
	}
	_, err := client.FromSecret(secret)
	g.Expect(err).To(MatchError("secret default/bmm has no orgName, token"))

	secret.Data["orgName"], secret.Data["token"], secret.Data["apiName"] = []byte("acme"), []byte(token+"\n"), []byte("nico")
	config, err := client.FromSecret(secret)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config).To(Equal(client.Config{Endpoint: "https://bmm.example.com", Org: "acme", Token: token, Source: "secret default/bmm", APIName: "nico"}))
}

func TestTheTokenIsNeverPrinted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config := client.Config{Endpoint: "https://bmm.example.com", Org: "acme", Token: token}
	c, err := client.New(config)
	g.Expect(err).NotTo(HaveOccurred())
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		g.Expect(fmt.Sprintf(format, config)).NotTo(ContainSubstring(token))
		g.Expect(fmt.Sprintf(format, c)).NotTo(ContainSubstring(token))
	}
}
