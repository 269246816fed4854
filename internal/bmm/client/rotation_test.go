package client_test

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

func TestRotation_takesEffectWithoutARestart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	login := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != clientSecret {
			httpclienttest.Reply(401, `{"error":"invalid_client"}`)(w, r)
			return
		}
		httpclienttest.Reply(200, `{"access_token":"fetched-1","token_type":"Bearer","expires_in":3600}`)(w, r)
	}})
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{"GET " + prefix + "tenant/current": func(w http.ResponseWriter, r *http.Request) {
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if token != "new" && token != "fetched-1" {
			httpclienttest.Reply(401, `{"message":"Authorization token in request has expired"}`)(w, r)
			return
		}
		httpclienttest.Reply(200, `{"id":"`+token+`","org":"acme"}`)(w, r)
	}})
	secret := secretWith(map[string]string{"endpoint": server.URL, "apiName": "carbide", "token": "old"})
	cluster := fake.NewClientBuilder().WithObjects(secret).Build()
	cache := &credentials.Cache[*client.Client]{Reader: cluster, Clock: clock.RealClock{},
		Build: func(secret *corev1.Secret) (*client.Client, error) {
			config, err := client.FromSecret(secret)
			if err != nil {
				return nil, err
			}
			config.RefusalPause, config.Egress = client.DefaultTimeout, loopback
			return client.New(config)
		}}
	name := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
	tenant := func() (*client.Tenant, error) {
		c, err := cache.Client(t.Context(), name)
		if err != nil {
			return nil, err
		}
		return c.Tenant(t.Context())
	}
	change := func(data map[string]string) {
		g.Expect(cluster.Get(t.Context(), kube.ObjectKeyFromObject(secret), secret)).To(Succeed())
		for key, value := range data {
			secret.Data[key] = []byte(value)
		}
		g.Expect(cluster.Update(t.Context(), secret)).To(Succeed())
	}

	_, err := tenant()
	g.Expect(err).To(MatchError(ContainSubstring("401")), "an old token")
	change(map[string]string{"token": "new"})
	g.Expect(tenant()).To(HaveField("ID", "new"), "the refusal was the old token's")

	change(map[string]string{"clientID": "me"})
	_, err = tenant()
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials), "two ways to log in")
	g.Expect(err).To(MatchError(ContainSubstring("secret default/bmm has two ways to log in")))

	change(map[string]string{"token": "", "tokenURL": login.URL, "clientSecret": "wrong"})
	_, err = tenant()
	g.Expect(err).To(MatchError(ContainSubstring("invalid_client")))
	change(map[string]string{"clientSecret": clientSecret})
	g.Expect(tenant()).To(HaveField("ID", "fetched-1"), "from a token to OAuth2")
}
