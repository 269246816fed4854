package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

// manager is what is tested: the running manager of a system, or, without metrics, a cloud controller manager. It has the rights that
// it has in production.
type manager struct {
	process  *process.Process
	health   string // URL
	metrics  string // URL
	profiler string // URL
	token    string // for its metrics
}

// startManager starts the system's manager and returns when it is ready.
func (r *rig) startManager(ctx context.Context, flags ...string) error {
	var err error
	r.manager, err = r.runManager(ctx, r.system.manager, r.system.account, 9450, flags...)
	if err != nil {
		return err
	}
	return r.manager.ready(ctx)
}

// runManager starts a manager as a service account. It has three ports, from the one for its health on.
func (r *rig) runManager(ctx context.Context, name, account string, port int, flags ...string) (*manager, error) {
	kubeconfig := filepath.Join(r.dir, name+".kubeconfig")
	if err := r.plane.WriteServiceAccountKubeconfig(kubeconfig, r.system.namespace, account); err != nil {
		return nil, err
	}
	token := &authenticationv1.TokenRequest{}
	who := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: r.system.namespace, Name: account}}
	if err := r.client.SubResource("token").Create(ctx, who, token); err != nil {
		return nil, fmt.Errorf("get a token for the metrics: %w", err)
	}
	at := func(port int) string { return net.JoinHostPort(r.block.Address(254, 1).String(), strconv.Itoa(port)) }
	p, err := process.Start(process.Command{
		Name: name, Path: r.tools.Path(name), Log: filepath.Join(r.dir, name+".log"),
		Args: slices.Concat([]string{
			"--kubeconfig=" + kubeconfig, "--webhook-port=0", "--insecure-loopback-endpoints", "--leader-election-namespace=" + r.system.namespace,
			"--leader-elect-lease-duration=1m", // a busy computer may keep the API server from answering
			"--health-addr=" + at(port), "--metrics-addr=" + at(port+1), "--profiler-address=" + at(port+2),
		}, flags),
	})
	if err != nil {
		return nil, err
	}
	return &manager{
		process: p, health: "http://" + at(port) + "/readyz", metrics: "https://" + at(port+1) + "/metrics",
		profiler: "http://" + at(port+2) + "/debug/pprof/", token: token.Status.Token,
	}, nil
}

// ready returns when it is.
func (m *manager) ready(ctx context.Context) error {
	return m.process.WaitReady(ctx, func(ctx context.Context) error {
		if err := process.AnswersOK(ctx, http.DefaultClient, m.health); err != nil {
			return err
		}
		_, err := m.scrape(ctx)
		return err
	})
}

// stopManager lets the manager end in peace.
func (r *rig) stopManager() {
	if r.manager != nil {
		r.manager.process.Stop(stopGrace)
		r.manager = nil
	}
}

// scrape reads the manager's metrics.
func (m *manager) scrape(ctx context.Context) (samples, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.metrics, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+m.token)
	response, err := insecure().Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the manager's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the manager's metrics: %s", response.Status)
	}
	return parseSamples(response.Body)
}

// insecure is for a certificate that the server has made for itself.
func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
}

// profile of the manager, in pprof's format.
func (m *manager) profile(ctx context.Context, query string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.profiler+query, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("profile the manager: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("profile the manager: %s", response.Status)
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("profile the manager: %w", err)
	}
	return data, nil
}
