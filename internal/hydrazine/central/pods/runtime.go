// Package pods runs OVN's centrals on Kubernetes: a Deployment of one Pod for each group.
//
// All objects of a group have the same name, that of its central, and its label. One of that name without the label is
// another client's, and is left alone. They have no owner reference, so that they aren't garbage collected: a deleted Service
// would come back with another address, and a Secret with another authority, which no DPU knows.
package pods

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
)

// Config of the centrals.
type Config struct {
	// Namespace of the centrals.
	Namespace string
	// Manager is the namespace of this manager's Pods.
	Manager string
	// Image has ovsdb-server, ovn-northd and their tools.
	Image string
	// Service is how DPUs reach them: LoadBalancer, or NodePort.
	Service corev1.ServiceType
	// Address of a node, or of all, that DPUs reach node ports at.
	Address netip.Addr
}

// Validate says what is wrong with the configuration, by the flags that it is from.
func (c *Config) Validate() error {
	return errors.Join(
		flagcheck.That("centrals-image", c.Image, c.Image != "", "an image: the centrals are on Kubernetes"),
		flagcheck.Namespace("centrals-namespace", c.Namespace),
		flagcheck.Namespace("manager-namespace", c.Manager),
		flagcheck.That("centrals-service", c.Service,
			c.Service == corev1.ServiceTypeLoadBalancer || c.Service == corev1.ServiceTypeNodePort,
			fmt.Sprintf("%s or %s", corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)),
		flagcheck.That("centrals-address", "", c.Service != corev1.ServiceTypeNodePort || c.Address.IsValid(),
			"the address of a node that DPUs reach: the centrals have node ports"),
	)
}

// Runtime implements central.Runtime.
type Runtime struct {
	config Config
	client client.Client // reads from a cache of what has our label in the namespace
	live   client.Reader
	news   workqueue.TypedInterface[string] // groups, each at most once
	died   chan string

	mutex sync.Mutex
	known map[string]*keys // by group; what is in use
	parts map[string]parts // by group; as last seen
}

// New returns a runtime that reads with a cache of its own, which begins and ends with the manager.
func New(mgr ctrl.Manager, config Config) (*Runtime, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	r := &Runtime{
		config: config, live: mgr.GetAPIReader(), known: map[string]*keys{}, parts: map[string]parts{},
		news: workqueue.NewTyped[string](), died: make(chan string),
	}
	return r, r.watch(mgr)
}

// Died implements central.Runtime. It also receives groups whose central has just started, or was changed by another
// client.
func (r *Runtime) Died() <-chan string { return r.died }

// Ensure implements central.Runtime. It doesn't wait: what is in progress is central.ErrOnItsWay, and Died says when it
// has started.
func (r *Runtime) Ensure(ctx context.Context, group string) (central.Central, error) {
	k, err := r.keys(ctx, group)
	if err != nil {
		return central.Central{}, err
	}
	service := &corev1.Service{}
	if err := errors.Join(
		r.apply(ctx, group, r.policy(group), &networkingv1.NetworkPolicy{}),
		r.apply(ctx, group, r.service(group), service),
		r.apply(ctx, group, r.deployment(group), &appsv1.Deployment{}),
	); err != nil {
		return central.Central{}, err
	}
	outside, err := r.outside(service)
	if err != nil {
		return central.Central{}, err
	}
	pod, err := r.running(ctx, group)
	if err != nil {
		return central.Central{}, err
	}
	return central.Central{
		Northbound: "ssl:" + endpoint(pod, northboundPort), Southbound: "ssl:" + endpoint(pod, administrationPort),
		ForDPUs: "ssl:" + outside,
		Listen:  fmt.Sprintf("pssl:%d:[%s]", dpuPort, pod),
		TLS:     k.tls, Authority: k.authority,
	}, nil
}

func endpoint(ip netip.Addr, port int) string {
	return net.JoinHostPort(ip.String(), strconv.Itoa(port))
}

// outside is where DPUs reach a central.
func (r *Runtime) outside(service *corev1.Service) (string, error) {
	if service.Spec.Type == corev1.ServiceTypeNodePort {
		if len(service.Spec.Ports) == 0 || service.Spec.Ports[0].NodePort == 0 {
			return "", fmt.Errorf("its Service has no node port: %w", central.ErrOnItsWay)
		}
		return endpoint(r.config.Address, int(service.Spec.Ports[0].NodePort)), nil
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ip, err := netip.ParseAddr(ingress.IP); err == nil {
			return endpoint(ip, dpuPort), nil
		}
		if ingress.Hostname != "" {
			return "", fmt.Errorf("its load balancer has the hostname %s, and DPUs need an IP address: use a load balancer with an IP address, or --centrals-service=NodePort", ingress.Hostname)
		}
	}
	return "", fmt.Errorf("its Service has no address of a load balancer: %w", central.ErrOnItsWay)
}

// Delete implements central.Runtime. The Deployment is deleted first, with its Pods: they use the other objects as long
// as they run.
func (r *Runtime) Delete(ctx context.Context, group string) error {
	if err := r.remove(ctx, group, &appsv1.Deployment{}, metav1.DeletePropagationForeground); err != nil {
		return err
	}
	var errs []error
	for _, object := range []client.Object{&corev1.Service{}, &networkingv1.NetworkPolicy{}, &corev1.Secret{}} {
		errs = append(errs, r.remove(ctx, group, object, metav1.DeletePropagationBackground))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, group)
	delete(r.parts, group)
	return nil
}

// meta is that of all objects of a group.
func (r *Runtime) meta(group string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: r.config.Namespace, Name: group, Labels: labelsOf(group)}
}
