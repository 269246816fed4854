package overlay_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// used is what the manager has taken so far: seconds of CPU, and MiB.
type used struct{ cpu, rss, peak float64 }

func (s *site) usage() used {
	p, err := procfs.NewProc(s.managerPID())
	s.Expect(err).NotTo(HaveOccurred())
	stat, err := p.Stat()
	s.Expect(err).NotTo(HaveOccurred())
	status, err := p.NewStatus()
	s.Expect(err).NotTo(HaveOccurred())
	return used{stat.CPUTime(), float64(status.VmRSS) / (1 << 20), float64(status.VmHWM) / (1 << 20)}
}

func load(s *site) float64 {
	proc, err := procfs.NewDefaultFS()
	s.Expect(err).NotTo(HaveOccurred())
	average, err := proc.LoadAvg()
	s.Expect(err).NotTo(HaveOccurred())
	return average.Load1
}

// get from the manager, by loopback in its namespace.
func (s *site) get(g Gomega, request *http.Request) []byte {
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, address string) (connection net.Conn, err error) {
			err = s.Do(fabric.Control, func() error {
				connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
				return err
			})
			return connection, err
		},
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.StatusCode).To(Equal(http.StatusOK), string(data))
	return data
}

// profile of the manager, if requested. The returned channel is closed when it is there.
func (s *site) profile(name, query string) <-chan struct{} {
	done := make(chan struct{})
	dir := os.Getenv("BEDPLATE_PROFILES")
	if dir == "" {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		request, err := http.NewRequestWithContext(s.b.Context(), http.MethodGet, "http://"+profilerAddress+"/debug/pprof/"+query, nil)
		s.Expect(err).NotTo(HaveOccurred())
		s.Eventually(func(g Gomega) { // a new manager isn't there at once
			g.Expect(os.WriteFile(filepath.Join(dir, name), s.get(g, request), 0o600)).To(Succeed())
		}).Should(Succeed())
	}()
	return done
}

// scrape the manager's metrics, as an authorized client.
func (s *site) scrape(g Gomega) metrics {
	request, err := http.NewRequestWithContext(s.b.Context(), http.MethodGet, "https://"+metricsAddress+"/metrics", nil)
	s.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+s.token)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(s.get(g, request)))
	s.Expect(err).NotTo(HaveOccurred())
	return families
}

// allowMetrics to be read with a token.
func (s *site) allowMetrics() {
	clients, err := kubernetes.NewForConfig(testenv.Config(s.b))
	s.Expect(err).NotTo(HaveOccurred())
	_, err = clients.RbacV1().ClusterRoleBindings().Create(s.b.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: "metrics"}},
	}, metav1.CreateOptions{})
	s.Expect(err).NotTo(HaveOccurred())
	_, err = clients.CoreV1().ServiceAccounts(s.namespace).Create(s.b.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics"},
	}, metav1.CreateOptions{})
	s.Expect(err).NotTo(HaveOccurred())
	token, err := clients.CoreV1().ServiceAccounts(s.namespace).CreateToken(s.b.Context(), "metrics", &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	s.Expect(err).NotTo(HaveOccurred())
	s.token = token.Status.Token
}

// metrics of a process at one moment.
type metrics map[string]*dto.MetricFamily

// by sums a counter or a gauge up for each value of a label.
func (m metrics) by(name, label string) map[string]float64 {
	sums := map[string]float64{}
	for _, one := range m[name].GetMetric() {
		value := ""
		for _, l := range one.GetLabel() {
			if l.GetName() == label {
				value = l.GetValue()
			}
		}
		sums[value] += one.GetCounter().GetValue() + one.GetGauge().GetValue()
	}
	return sums
}

// total of a counter or a gauge.
func (m metrics) total(name string) (total float64) {
	for _, n := range m.by(name, "") {
		total += n
	}
	return total
}

func (s *site) managerPID() int {
	managers := processtest.Mentioning(s.b, "--centrals-dir="+filepath.Join(s.dir, "ovn"))
	s.Expect(managers).To(HaveLen(1))
	return slices.Collect(maps.Keys(managers))[0]
}
