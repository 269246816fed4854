package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/testenv"
)

// Connections on which nothing is said are closed when there are too many, and after a while; the API server's aren't among them.
func TestWebhooks_areServedBesideSilentConnections(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	port, dir, ca := certified(t)
	server := webhook.Server(newWebhookServer(port, dir))
	server.Register("/ask", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.StartedChecker()(request)).NotTo(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	g.Eventually(func() error { return server.StartedChecker()(request) }).Should(Succeed())

	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	open := openSilent(t, address, 600)
	asking := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca}, ForceAttemptHTTP2: true}}
	defer asking.CloseIdleConnections()
	ask := func() (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/ask", http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		answer, err := asking.Do(request)
		if err != nil {
			return "", err
		}
		g.Expect(answer.StatusCode).To(Equal(http.StatusTeapot))
		return answer.Proto, answer.Body.Close()
	}
	g.Expect(ask()).To(Equal("HTTP/2.0"))
	g.Eventually(open.Load, 5*time.Second).Should(BeNumerically("<=", webhookConnections), "long before they have had their time")
	g.Eventually(open.Load, portHeaderTime+10*time.Second).Should(BeZero())
	g.Expect(ask()).To(Equal("HTTP/2.0"))
	cancel()
	g.Expect(<-ended).To(Succeed())
}

// certified is a free port, a folder with a certificate for it, and the CA that has signed it.
func certified(t *testing.T) (port int, folder string, authorities *x509.CertPool) {
	t.Helper()
	g, dir := NewWithT(t), pki.Dir(t.TempDir())
	ca, err := pki.NewAuthority("webhooks")
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := ca.Sign(pki.Leaf{CommonName: "webhooks", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dir.Write("tls", pair)).To(Succeed())
	authorities = x509.NewCertPool()
	authorities.AppendCertsFromPEM(ca.CertPEM())
	return testenv.FreeAddress(t, net.IPv4(127, 0, 0, 1)).Port, string(dir), authorities
}

// A write in progress isn't refused because the manager shuts down, nor is one that waits for its turn.
func TestWebhooks_answerWhatHasComeBeforeTheyStop(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	port, dir, authorities := certified(t)
	server := newWebhookServer(port, dir)
	asked, goOn := make(chan struct{}, 100), make(chan struct{})
	server.Register("/ask", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-goOn
		if r.Context().Err() == nil {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	g.Eventually(func() (string, error) { return shownAt(address) }).ShouldNot(BeEmpty())
	apiServer := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true, ExpectContinueTimeout: time.Minute,
	}}
	answers := make(chan any, 3*webhooksAtOnce) // a status, or why there is none
	come := make(chan struct{}, cap(answers))   // a request that the server reads
	for range cap(answers) {
		go func() {
			trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { come <- struct{}{} }})
			request, _ := http.NewRequestWithContext(trace, http.MethodPost, "https://"+address+"/ask", strings.NewReader("x"))
			request.Header.Set("Expect", "100-continue")
			answer, err := apiServer.Do(request)
			if err != nil {
				answers <- err
				return
			}
			_ = answer.Body.Close()
			answers <- answer.StatusCode
		}()
	}
	g.Eventually(func() int { return len(come) }).Should(Equal(cap(answers)))
	g.Eventually(func() int { return len(asked) }).Should(Equal(webhooksAtOnce))
	cancel()
	g.Consistently(answers, 300*time.Millisecond).ShouldNot(Receive())
	close(goOn)
	for range cap(answers) {
		var answer any
		g.Eventually(answers).Should(Receive(&answer))
		g.Expect(answer).To(Equal(http.StatusTeapot))
	}
	g.Eventually(ended).Should(Receive(BeNil()))
}

// An unknown client with many addresses has no more connections from each than the API server has, and never sends a
// request.
func TestWebhooks_areServedBesideAStrangerOfManyAddresses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	port, dir, authorities := certified(t)
	server := newWebhookServer(port, dir)
	asked := make(chan struct{}, 100)
	server.Register("/ask", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		time.Sleep(20 * time.Millisecond) // it reads objects
		w.WriteHeader(http.StatusTeapot)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = server.Start(ctx) }()
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	apiServer := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true}}
	ask := func() error {
		answer, err := apiServer.Post("https://"+address+"/ask", "text/plain", strings.NewReader("x"))
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	g.Eventually(ask).Should(Succeed())
	var closed atomic.Int32
	for i := range 300 {
		go func() { // one connection at a time
			dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, byte(i>>8), byte(i))}}
			for ctx.Err() == nil {
				c, err := dialer.DialContext(ctx, "tcp", address)
				if err != nil {
					continue
				}
				_, _ = c.Read(make([]byte, 1))
				_ = c.Close()
				closed.Add(1)
			}
		}()
	}
	for i := 0; i < 50 || closed.Load() < 100; i++ {
		g.Expect(ask()).To(Succeed(), "request %d, when %d connections have been closed", i, closed.Load())
		<-asked
	}
}

// openSilent opens connections on which nothing is said, and returns how many of them are still open.
func openSilent(t *testing.T, address string, connections int) (open *atomic.Int32) {
	t.Helper()
	open = &atomic.Int32{}
	for range connections {
		silent, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = silent.Close() })
		open.Add(1)
		go func() {
			_, _ = silent.Read(make([]byte, 1))
			open.Add(-1)
		}()
	}
	return open
}
