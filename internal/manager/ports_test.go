package manager

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Probes and metrics are served beside more connections than there are places, which are closed long before they have had their time.
func TestPorts_areServedBesideSilentConnections(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	probes, metrics := servePorts(t, t.TempDir())
	asking := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second,
	}
	defer asking.CloseIdleConnections()
	status := func(url string) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		answer, err := asking.Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	for url, want := range map[string]int{
		"http://" + probes + "/healthz": http.StatusOK, "http://" + probes + "/readyz": http.StatusOK, "http://" + probes + "/readyz/ping": http.StatusOK,
		"http://" + probes + "/readyz/pong": http.StatusNotFound, "https://" + metrics + "/metrics": http.StatusUnauthorized,
	} {
		g.Eventually(func() (int, error) { return status(url) }, time.Minute).Should(Equal(want), url)
	}
	for url, address := range map[string]string{"http://" + probes + "/readyz": probes, "https://" + metrics + "/metrics": metrics} {
		open := openSilent(t, address, 3*portConnections)
		asking.CloseIdleConnections()
		g.Expect(status(url)).NotTo(BeZero(), url)
		g.Eventually(open.Load, 5*time.Second).Should(BeNumerically("<=", portConnections), url)
		g.Eventually(open.Load, portHeaderTime+10*time.Second).Should(BeZero(), url)
	}
}
