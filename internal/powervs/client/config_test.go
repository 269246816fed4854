package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestFromSecret_readsKeyEndpointsAndCA(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := secret()
	s.Data["apiKey"] = []byte(" key\n")
	s.Data["ca.crt"] = []byte("certificates")
	config, err := client.FromSecret(s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.APIKey).To(Equal("key"))
	g.Expect(config.Secret).To(Equal("team/ibm"))
	g.Expect(config.CABundle).To(BeEquivalentTo("certificates"))
	g.Expect(config.Endpoints).To(And(HaveLen(7), HaveKeyWithValue(client.ServiceVPC, "https://{region}.vpc.example.com/v1")))
}

func TestFromSecret_namesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(map[string][]byte)
		text   string
	}{
		"no key":   {func(d map[string][]byte) { delete(d, "apiKey") }, "secret team/ibm has no apiKey"},
		"empty":    {func(d map[string][]byte) { d["apiKey"] = []byte("\n") }, "secret team/ibm has no apiKey"},
		"long":     {func(d map[string][]byte) { d["apiKey"] = []byte(strings.Repeat("x", 3000)) }, "has more than 2 KiB under apiKey"},
		"odd key":  {func(d map[string][]byte) { d["apiKey"] = []byte("two words") }, "apiKey is empty or contains characters"},
		"no URL":   {func(d map[string][]byte) { d["vpcEndpoint"] = []byte("vpc") }, "vpcEndpoint must look like"},
		"plain":    {func(d map[string][]byte) { d["cosEndpoint"] = []byte("http://cos.example.com") }, "cosEndpoint must use https"},
		"inside":   {func(d map[string][]byte) { d["rmEndpoint"] = []byte("https://169.254.169.254") }, "rmEndpoint 169.254.169.254:443 isn't"},
		"login in": {func(d map[string][]byte) { d["iamEndpoint"] = []byte("https://iam.example.com:99999") }, "iamEndpoint"},
		"no CA":    {func(d map[string][]byte) { d["ca.crt"] = []byte("nothing") }, "ca.crt contains no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := secret()
			row.change(s.Data)
			_, err := client.Connect(nil)(s)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.text)))
		})
	}
}

func TestParseServiceEndpoints_readsThePeersFlag(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	parsed, err := client.ParseServiceEndpoints(
		"us-south:vpc=https://v1.example.com,powervs=https://p.example.com,rc=https://rc.example.com;" +
			" eu-de:vpc=https://v2.example.com , rc=https://rc.example.com;")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed).To(Equal(client.ServiceEndpoints{
		"us-south": {"vpc": "https://v1.example.com", "powervs": "https://p.example.com", "rc": "https://rc.example.com"},
		"eu-de":    {"vpc": "https://v2.example.com", "rc": "https://rc.example.com"},
	}))
	g.Expect(client.ParseServiceEndpoints("")).To(BeEmpty())
	for flag, text := range map[string]string{
		"us-south":                                 "must look like REGION:",
		"Us South:vpc=https://v":                   "must look like REGION:",
		"us-south:":                                "must look like SERVICE=URL",
		"us-south:vpc":                             "must look like SERVICE=URL",
		"us-south:vpc=":                            "must look like SERVICE=URL",
		"us-south:dns=https://d":                   "with one of the services [cos iam powervs rc rm transitgateway vpc]",
		"us-south:vpc=https://a,vpc=https://b":     "two service endpoints of vpc",
		"us-south:rm=https://a;eu-de:rm=https://b": "two service endpoints of rm",
	} {
		_, err := client.ParseServiceEndpoints(flag)
		g.Expect(err).To(MatchError(ContainSubstring(text)), flag)
	}
}

func TestEndpoints_areTheSecretsTheProgramsOrThePublicOnes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	flag, err := client.ParseServiceEndpoints("dal:powervs=https://flag-power.example.com;" +
		"us-south:vpc=https://flag-vpc.example.com:443/v1,rm=https://flag-rm.example.com,rc=https://flag-rc.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(client.Config{
		APIKey: "key", ServiceEndpoints: flag,
		Endpoints: map[client.Service]string{client.ServiceResourceController: "https://Secret-RC.example.com./path"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	for want, got := range map[string]string{
		"https://secret-rc.example.com":                         c.Endpoint(client.ServiceResourceController, ""),
		"https://flag-rm.example.com":                           c.Endpoint(client.ServiceResourceManager, "anywhere"),
		"https://transit.cloud.ibm.com":                         c.Endpoint(client.ServiceTransitGateway, ""),
		"https://iam.cloud.ibm.com":                             c.Endpoint(client.ServiceIAM, ""),
		"https://flag-vpc.example.com":                          c.Endpoint(client.ServiceVPC, "us-south"),
		"https://eu-de.iaas.cloud.ibm.com":                      c.Endpoint(client.ServiceVPC, "eu-de"),
		"https://flag-power.example.com":                        c.Endpoint(client.ServicePowerVS, "dal"),
		"https://wdc.power-iaas.cloud.ibm.com":                  c.Endpoint(client.ServicePowerVS, "wdc"),
		"https://s3.eu-de.cloud-object-storage.appdomain.cloud": c.Endpoint(client.ServiceCOS, "eu-de"),
	} {
		g.Expect(got).To(Equal(want))
	}
	g.Expect(c.Endpoint(client.ServiceVPC, "evil.example.com/")).To(BeEmpty())
	g.Expect(c.Silent(client.ServiceVPC, "evil.example.com/")).To(MatchError(ContainSubstring("not the name of a region")))
	g.Expect(c.Silent(client.ServiceVPC, "us-south")).To(Succeed())
}

func TestClient_keepsAFewServicesHoweverManyRegionsAreNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, err := client.New(client.Config{APIKey: "key"})
	g.Expect(err).NotTo(HaveOccurred())
	for i := range 200 {
		g.Expect(c.Endpoint(client.ServiceVPC, fmt.Sprintf("region-%d", i))).NotTo(BeEmpty())
		g.Expect(c.Services()).To(BeNumerically("<=", 64))
	}
	c.CloseIdleConnections()
	g.Expect(c.Services()).To(BeZero())
}

func TestClient_saysWhoseItIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	connect := func(change func(*corev1.Secret)) *client.Client {
		s := secret()
		change(s)
		c, err := client.Connect(client.Paced(time.Minute, 0, 0, egress.Policy{}, nil))(s)
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	one := connect(func(*corev1.Secret) {})
	g.Expect(one.Secret()).To(Equal("team/ibm"))
	g.Expect(one.Namespace()).To(Equal("team"))
	g.Expect(one.String()).To(Equal("IBM Cloud, API key of secret team/ibm"))
	g.Expect(connect(func(s *corev1.Secret) { s.Name = "copy" }).Account()).To(Equal(one.Account()), "the same login")
	for _, key := range []string{"apiKey", "vpcEndpoint"} {
		other := connect(func(s *corev1.Secret) { s.Data[key] = append(s.Data[key], 'x') })
		g.Expect(other.Account()).NotTo(Equal(one.Account()), key)
	}
	config, err := client.FromSecret(secret())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fmt.Sprintf("%v %+v %#v", config, config, config)).NotTo(ContainSubstring(sim.DefaultAPIKey))
}

func TestRegions_ofZones(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for zone, want := range map[string][2]string{
		"dal10": {"dal", "us-south"}, "us-south": {"us-south", "us-south"}, "us-east": {"us-east", "us-east"}, "wdc06": {"wdc", "us-east"},
		"eu-de-1": {"eu-de", "eu-de"}, "eu-de-2": {"eu-de", "eu-de"},
		"lon04": {"lon", "eu-gb"}, "mad02": {"mad", "eu-es"}, "osa21": {"osa", "jp-osa"},
		"sao01": {"sao", "br-sao"}, "syd05": {"syd", "au-syd"}, "tok04": {"tok", "jp-tok"},
		"tor01": {"tor", "ca-tor"}, "mon01": {"mon", "ca-tor"},
		"che01": {"che", "in-che"}, "moon1": {"moon", ""}, "": {"", ""},
	} {
		g.Expect([2]string{client.PowerVSRegion(zone), client.VPCRegion(zone)}).To(Equal(want), zone)
	}
}
