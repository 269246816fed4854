package httpclient_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// issuer is a token endpoint. It counts the tokens it gave: fetched-1, fetched-2, …
type issuer struct {
	*httptest.Server
	given   atomic.Int32
	seconds int
	// answer replaces the token if it isn't nil.
	answer http.HandlerFunc

	mu    sync.Mutex
	forms []url.Values
}

func startIssuer(t *testing.T, seconds int, answer http.HandlerFunc) *issuer {
	t.Helper()
	i := &issuer{seconds: seconds, answer: answer}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		_ = r.ParseForm()
		i.mu.Lock()
		i.forms = append(i.forms, r.PostForm)
		i.mu.Unlock()
		switch {
		case i.answer != nil:
			i.answer(w, r)
		case id != "me" || secret != clientSecret:
			httpclienttest.Reply(401, `{"error":"invalid_client","error_description":"not `+secret+`"}`)(w, r)
		default:
			httpclienttest.Reply(200, fmt.Sprintf(`{"access_token":"fetched-%d","token_type":"Bearer","expires_in":%d}`, i.given.Add(1), i.seconds))(w, r)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

// admits answers for the tenant to those with one of the tokens.
func admits(tokens ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, token := range tokens {
			if r.Header.Get("Authorization") == "Bearer "+token {
				httpclienttest.Reply(200, `{"id":"`+token+`","org":"acme"}`)(w, r)
				return
			}
		}
		httpclienttest.Reply(401, `{"message":"Authorization token in request has expired: `+r.Header.Get("Authorization")+`"}`)(w, r)
	}
}

// oauth2Client logs in at the issuer.
func oauth2Client(t *testing.T, server *httptest.Server, i *issuer, change ...func(*httpclient.Config)) *toy {
	t.Helper()
	secret := func(c *httpclient.Config) { c.Secret, c.RefusalPause = "default/toy", time.Minute }
	return newToy(t, append([]func(*httpclient.Config){at(server), secret, oauth2(i.URL)}, change...)...)
}

const (
	thingPath    = "GET /thing"
	clientSecret = "an-even-more-secret-secret"
)

// oauth2 is the login of a toy.
func oauth2(tokenURL string, scopes ...string) func(*httpclient.Config) {
	return func(c *httpclient.Config) {
		c.Login = httpclient.OAuth2{TokenURL: tokenURL, ClientID: "me", ClientSecret: clientSecret, Scopes: scopes}.Login(c.Secret)
	}
}

func TestOAuth2_oneTokenServesAllUntilItEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		seconds int
		fetched int32
	}{
		"a token for an hour":           {3600, 1},
		"a token without an end":        {0, 1},
		"a token that is over at once":  {-1, 8},
		"a token with a short life yet": {20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			i := startIssuer(t, row.seconds, nil)
			server := httpclienttest.Start(t, map[string]http.HandlerFunc{thingPath: func(w http.ResponseWriter, r *http.Request) {
				httpclienttest.Reply(200, `{"id":"`+r.Header.Get("Authorization")+`","org":"acme"}`)(w, r)
			}})
			c := oauth2Client(t, server, i)
			for range 8 {
				_, err := c.Get(t.Context())
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(i.given.Load()).To(Equal(row.fetched))
		})
	}
}

func TestOAuth2_thoseWhoComeTogetherShareOneFetch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var fetches atomic.Int32
	release := make(chan struct{})
	i := startIssuer(t, 3600, func(w http.ResponseWriter, r *http.Request) {
		fetches.Add(1)
		<-release
		httpclienttest.Reply(200, `{"access_token":"one","token_type":"Bearer","expires_in":3600}`)(w, r)
	})
	c := oauth2Client(t, httpclienttest.Start(t, map[string]http.HandlerFunc{thingPath: admits("one")}), i)
	var together sync.WaitGroup
	for range 10 {
		together.Go(func() {
			_, err := c.Get(t.Context())
			if err != nil {
				t.Error(err)
			}
		})
	}
	g.Eventually(fetches.Load, time.Minute).Should(BeEquivalentTo(1))
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	together.Wait()
	g.Expect(fetches.Load()).To(BeEquivalentTo(1))
}

func TestOAuth2_sendsTheScopes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := startIssuer(t, 3600, nil)
	c := oauth2Client(t, httpclienttest.Start(t, map[string]http.HandlerFunc{thingPath: admits("fetched-1")}), i, oauth2(i.URL, "toy", "openid"))
	_, err := c.Get(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(i.forms).To(ConsistOf(url.Values{"grant_type": {"client_credentials"}, "scope": {"toy openid"}}))
}

func TestOAuth2_aRefusedTokenIsFetchedAnewOnce(t *testing.T) {
	t.Parallel()
	t.Run("and the call goes on, a write as well", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		i := startIssuer(t, 3600, nil)
		var posts atomic.Int32
		c := oauth2Client(t, httpclienttest.Start(t, map[string]http.HandlerFunc{
			thingPath: admits("fetched-2", "fetched-3"),
			"POST /thing": func(w http.ResponseWriter, r *http.Request) {
				posts.Add(1)
				admits("fetched-3")(w, r)
			},
		}), i)
		g.Expect(c.Get(t.Context())).To(HaveField("ID", "fetched-2"))
		g.Expect(c.Create(t.Context())).To(HaveField("ID", "fetched-3"))
		g.Expect(posts.Load()).To(BeEquivalentTo(2))
		g.Expect(c.Get(t.Context())).To(HaveField("ID", "fetched-3"))
		g.Expect(i.given.Load()).To(BeEquivalentTo(3))
	})
	t.Run("and the refusal is remembered when that doesn't help", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		i := startIssuer(t, 3600, nil)
		var calls atomic.Int32
		c := oauth2Client(t, httpclienttest.Start(t, map[string]http.HandlerFunc{thingPath: func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			admits()(w, r)
		}}), i)
		for range 3 {
			_, err := c.Get(t.Context())
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
			g.Expect(err).To(MatchError("get thing: 401 Unauthorized: Authorization token in request has expired: Bearer [redacted]; " +
				"correct the OAuth2 client in secret default/toy"))
		}
		g.Expect(calls.Load()).To(BeEquivalentTo(2))
		g.Expect(i.given.Load()).To(BeEquivalentTo(2))
	})
}

func TestAStaticToken_isSentOnceMoreAfterItsRefusalAndThenNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		tenant, calls := refusedAtFirst(t, math.MaxInt32, 1)
		correct := And(HaveSuffix("; correct the token in secret default/toy"), Not(ContainSubstring(token)))
		for range 3 {
			_, err := tenant()
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient), "it may be the server's hiccup")
			g.Expect(httpclient.Refused(err)).To(BeTrue(), "and it is about the token all the same")
			g.Expect(fault.IsAmbiguous(err)).To(BeFalse())
			g.Expect(err).To(MatchError(correct))
		}
		g.Expect(calls.Load()).To(BeEquivalentTo(1))
		g.Eventually(func(g Gomega) {
			_, err := tenant()
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
			g.Expect(err).To(MatchError(correct))
		}).WithTimeout(10 * time.Second).Should(Succeed())
		for range 3 {
			_, err := tenant()
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
		}
		g.Expect(calls.Load()).To(BeEquivalentTo(2))
	})
}

func TestAStaticToken_healsSoonAfterTheServersHiccup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		tenant, calls := refusedAtFirst(t, 1, 1)
		_, err := tenant()
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		g.Eventually(func() error { _, err := tenant(); return err }).WithTimeout(10 * time.Second).Should(Succeed())
		g.Expect(calls.Load()).To(BeEquivalentTo(2))
		g.Expect(tenant()).NotTo(BeNil())
	})
}

// Calls that are under way together are refused together, and that is one refusal.
func TestAStaticToken_thatIsRefusedTwiceAtOnceIsStillSentOnceMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		const calls = 8
		tenant, _ := refusedAtFirst(t, calls, calls)
		var together sync.WaitGroup
		for range calls {
			together.Go(func() { _, _ = tenant() })
		}
		together.Wait()
		_, err := tenant()
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	})
}

// refusedAtFirst is a call of a client whose first calls are refused, once so many are there together, in simulated time: pauses are seconds.
func refusedAtFirst(t *testing.T, first, together int32) (tenant func() (*thing, error), calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	arrived := make(chan struct{})
	both := step(func(r *http.Request) (*http.Response, error) {
		n := calls.Add(1)
		if n == together {
			close(arrived)
		}
		w, admit := httptest.NewRecorder(), admits(token)
		if n <= first {
			<-arrived
			time.Sleep(time.Millisecond) // the answer's way back
			admit = admits()
		}
		admit(w, r)
		answer := w.Result()
		answer.Request = r
		return answer, nil
	})
	c := (&script{steps: []step{both}}).client(t, func(c *httpclient.Config) { c.Secret, c.RefusalPause = "default/toy", 20*time.Second })
	return func() (*thing, error) { return c.Get(t.Context()) }, calls
}

func TestOAuth2_whyThereIsNoToken(t *testing.T) {
	t.Parallel()
	// What an endpoint may repeat of the request, and must not show up anywhere.
	echo := `,"error_description":"client_secret=` + clientSecret + `"}`
	const noOAuth2 = "log in: the answer isn't one of OAuth2 (is tokenURL right?)"
	correct := "; correct the keys tokenURL, clientID, clientSecret and scopes in secret default/toy"
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		class  fault.Class
		text   string
	}{
		"wrong secret": {httpclienttest.Reply(401, `{"error":"invalid_client"`+echo), fault.Credentials, "log in: 401 Unauthorized: invalid_client" + correct},
		"client not allowed": {httpclienttest.Reply(400, `{"error":"unauthorized_client"`+echo), fault.Credentials,
			"log in: 400 Bad Request: unauthorized_client" + correct},
		"unknown scope":       {httpclienttest.Reply(400, `{"error":"invalid_scope"`+echo), fault.Credentials, "log in: 400 Bad Request: invalid_scope" + correct},
		"an error in a 200":   {httpclienttest.Reply(200, `{"error":"invalid_grant"`+echo), fault.Credentials, "log in: 200 OK: invalid_grant" + correct},
		"forbidden":           {httpclienttest.Reply(403, clientSecret), fault.Credentials, "log in: 403 Forbidden" + correct},
		"endpoint overloaded": {httpclienttest.Reply(503, clientSecret), fault.Transient, "log in: 503 Service Unavailable"},
		"endpoint busy": {httpclienttest.Reply(503, `{"error":"temporarily_unavailable"`+echo), fault.Transient,
			"log in: 503 Service Unavailable: temporarily_unavailable"},
		"too many logins":      {httpclienttest.Reply(429, ""), fault.Transient, "log in: 429 Too Many Requests"},
		"no such endpoint":     {httpclienttest.Reply(404, clientSecret), fault.Transient, "log in: 404 Not Found (is tokenURL right?)"},
		"a redirect":           {httpclienttest.Reply(302, ""), fault.Transient, "log in: 302 Found (is tokenURL right?)"},
		"a page":               {httpclienttest.Reply(200, "<html>"+clientSecret), fault.Transient, noOAuth2},
		"no token":             {httpclienttest.Reply(200, `{"expires_in":3600}`), fault.Transient, noOAuth2},
		"a token with a space": {httpclienttest.Reply(200, `{"access_token":"two words"}`), fault.Transient, "log in: the answer has no token that can be sent"},
		"a secret as the code": {httpclienttest.Reply(400, `{"error":"`+clientSecret+`"}`), fault.Transient, "log in: 400 Bad Request (is tokenURL right?)"},
		"a dropped connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, fault.Transient, "log in: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var asked atomic.Int32
			i := startIssuer(t, 0, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); row.answer(w, r) })
			c := oauth2Client(t, httpclienttest.Start(t, nil), i)
			_, err := c.Create(t.Context())
			g.Expect(err).To(MatchError(row.text))
			g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "nothing was sent")

			before := asked.Load()
			_, err = c.Get(t.Context())
			g.Expect(err).To(MatchError(row.text))
			g.Expect(asked.Load() > before).To(Equal(row.class == fault.Transient), "a refusal is remembered, a passing fault isn't")
		})
	}
}

func TestOAuth2_aSilentEndpointHoldsNobodyLongerThanTheCall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	release := make(chan struct{})
	i := startIssuer(t, 0, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	t.Cleanup(func() { close(release) })
	c := oauth2Client(t, httpclienttest.Start(t, nil), i, func(config *httpclient.Config) { config.Timeout = 100 * time.Millisecond })
	_, err := c.Create(t.Context())
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	g.Expect(fault.IsAmbiguous(err)).To(BeFalse())
	g.Expect(err).To(MatchError(HavePrefix("log in: ")))
}

func TestOAuth2_fetchingATokenEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		silent := step(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c := (&script{steps: []step{silent}}).client(t, oauth2("https://login.example.com"))
		begin := time.Now()
		_, err := c.Get(t.Context())
		g.Expect(err).To(MatchError("log in: no answer in time: context deadline exceeded"))
		g.Expect(time.Since(begin)).To(BeNumerically("<=", 20*time.Second), "long before the call's own time is over")
	})
}

func TestOAuth2_aTokenIsReplacedBeforeItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		fetched := 0
		both := step(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "login.example.com" {
				return found(r)
			}
			fetched++
			return answers(200, `{"access_token":"t","token_type":"Bearer","expires_in":300}`, "Content-Type", "application/json")(r)
		})
		c := (&script{steps: []step{both}}).client(t, oauth2("https://login.example.com"))
		for _, row := range []struct {
			after   time.Duration
			fetched int
		}{{0, 1}, {269 * time.Second, 1}, {2 * time.Second, 2}, {269 * time.Second, 2}, {time.Hour, 3}} {
			time.Sleep(row.after)
			_, err := c.Get(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(fetched).To(Equal(row.fetched))
		}
	})
}

// allocated is how many bytes a function allocates, in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLogin_isBoundedToo(t *testing.T) { //nolint:paralleltest // what others allocate would count
	g := NewWithT(t)
	server := httptest.NewServer(httpclienttest.Reply(200, `{"access_token":"x","x":[`+strings.Repeat("{},", 300_000)+`{}]}`))
	t.Cleanup(server.Close)
	c := newToy(t, at(server), oauth2(server.URL))
	var err error
	g.Expect(allocated(func() { _, err = c.Get(t.Context()) })).To(BeNumerically("<", 4<<20))
	g.Expect(err).To(MatchError(ContainSubstring("isn't one of OAuth2")))
}
