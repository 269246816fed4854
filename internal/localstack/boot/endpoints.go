package boot

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"github.com/bedplate/bedplate/internal/localstack/boot/loadbalancer"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// createEndpoint puts a backend behind the virtual address of a new cluster. Two clusters can't have the same one.
func (r *Rack) createEndpoint(endpoint, backend netip.AddrPort) error {
	if endpoint == backend {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endpoints[endpoint] != nil {
		return fmt.Errorf("another cluster of this data centre has the endpoint %s", endpoint)
	}
	balancer, err := loadbalancer.Listen(endpoint, apiServerReady(), r.config.Log)
	if err != nil {
		return err
	}
	balancer.Add(backend)
	r.endpoints[endpoint] = balancer
	return nil
}

// joinEndpoint puts one more backend behind the virtual address of a cluster that is there.
func (r *Rack) joinEndpoint(endpoint, backend netip.AddrPort) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	balancer := r.endpoints[endpoint]
	if balancer == nil {
		return fmt.Errorf("no cluster of this data centre has the virtual address %s: "+
			"a control plane of several machines needs one", endpoint)
	}
	balancer.Add(backend)
	return nil
}

// leaveEndpoint removes a backend; without its last backend the virtual address is gone.
func (r *Rack) leaveEndpoint(endpoint, backend netip.AddrPort) {
	r.mu.Lock()
	balancer := r.endpoints[endpoint]
	last := balancer != nil && balancer.Remove(backend) == 0
	if last {
		delete(r.endpoints, endpoint)
	}
	r.mu.Unlock()
	if last {
		balancer.Close()
	}
}

// Balance lets load balancers listen at these endpoints, with these backends each, and at no others.
func (r *Rack) Balance(listeners map[netip.AddrPort][]netip.AddrPort) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("balance: the rack is closed")
	}
	return r.balance(listeners)
}

// balance needs the lock.
func (r *Rack) balance(listeners map[netip.AddrPort][]netip.AddrPort) (all error) {
	for endpoint, balancer := range r.endpoints {
		if _, wanted := listeners[endpoint]; !wanted {
			delete(r.endpoints, endpoint)
			balancer.Close()
		}
	}
	for endpoint, backends := range listeners {
		if r.endpoints[endpoint] == nil {
			balancer, err := loadbalancer.Listen(endpoint, answers, r.config.Log)
			if err != nil {
				all = errors.Join(all, err)
				continue
			}
			r.endpoints[endpoint] = balancer
		}
		r.endpoints[endpoint].Set(backends)
	}
	return all
}

// answers is a check of a backend that only has to accept a connection.
func answers(ctx context.Context, backend netip.AddrPort) error {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", backend.String())
	if err != nil {
		return err
	}
	return connection.Close()
}

// apiServerReady asks an API server, without authentication, whether it is ready for traffic. That needs no trust.
func apiServerReady() loadbalancer.Check {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
	}}
	return func(ctx context.Context, backend netip.AddrPort) error {
		return process.AnswersOK(ctx, client, "https://"+backend.String()+"/readyz")
	}
}
