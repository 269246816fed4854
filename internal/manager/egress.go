package manager

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/flagcheck"
)

const (
	clusterFlag = "cluster-cidrs"
	// rangesTimeout is for the API server to report the ranges of Services.
	rangesTimeout = 30 * time.Second
)

func (o *Options) checkEgress() error {
	if _, err := o.egress.Policy(); err != nil {
		return err
	}
	for _, text := range o.clusterCIDRs {
		_, ok := egress.ParsePrefix(text)
		if err := flagcheck.That(clusterFlag, text, ok, "a CIDR such as 10.96.0.0/12"); err != nil {
			return err
		}
	}
	return nil
}

// EgressPolicy says what the Secrets' endpoints may lead to. Where the flags don't say it, the ranges of Services are those
// that there are now: another one counts after a restart.
func (o *Options) EgressPolicy(ctx context.Context) (egress.Policy, error) {
	policy, err := o.egress.Policy()
	if err != nil {
		return policy, err
	}
	if len(o.clusterCIDRs) > 0 {
		policy.Cluster = parseRanges(o.clusterCIDRs...)
		return policy, nil
	}
	config, err := o.restConfig()
	if err != nil {
		return policy, fmt.Errorf("configure the API server's client: %w", err)
	}
	policy.Cluster, err = serviceRanges(ctx, config)
	return policy, err
}

// serviceRanges are the ranges of the cluster's Services. An API server that doesn't know its ranges leaves its own Service.
func serviceRanges(ctx context.Context, config *rest.Config) ([]netip.Prefix, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("configure the API server's client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, rangesTimeout)
	defer cancel()
	list, err := kube.NetworkingV1().ServiceCIDRs().List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		klog.Background().Info("The API server doesn't provide the ranges of Services: set --" + clusterFlag)
		host, err := netip.ParseAddr(os.Getenv("KUBERNETES_SERVICE_HOST"))
		if err != nil {
			return nil, nil // outside of a cluster there are no Services to be called
		}
		return []netip.Prefix{netip.PrefixFrom(host.Unmap(), host.Unmap().BitLen())}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the ranges of Services (or name them with --%s): %w", clusterFlag, err)
	}
	var ranges []netip.Prefix
	for i := range list.Items {
		ranges = append(ranges, parseRanges(list.Items[i].Spec.CIDRs...)...)
	}
	return ranges, nil
}

// parseRanges leaves out what isn't one.
func parseRanges(texts ...string) (ranges []netip.Prefix) {
	for _, text := range texts {
		if r, ok := egress.ParsePrefix(text); ok {
			ranges = append(ranges, r)
		}
	}
	return ranges
}
