package kubeadm

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudproviderapi "k8s.io/cloud-provider/api"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"

	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
)

// registration turns kubeadm's nodeRegistration into what the kubelet registers its Node with.
func registration(host Host, options kubeadmv1.NodeRegistrationOptions) (kubelet.Registration, error) {
	r := kubelet.Registration{Address: host.Address, Taints: options.Taints, Labels: map[string]string{}}
	r.Name = strings.ToLower(cmp.Or(options.Name, host.Hostname))
	if problems := validation.IsDNS1123Subdomain(r.Name); len(problems) > 0 {
		return r, fmt.Errorf("node name %q: %s", r.Name, strings.Join(problems, "; "))
	}
	given := map[string]bool{}
	for _, arg := range options.KubeletExtraArgs {
		if err := applyFlag(&r, host, arg.Name, arg.Value); err != nil {
			return r, fmt.Errorf("kubelet flag --%s: %w", arg.Name, err)
		}
		given[arg.Name+"="+arg.Value], given[arg.Name] = true, true
	}
	// As a kubelet does: it leaves the addresses to the cloud unless it was given one.
	r.Unaddressed = given["cloud-provider=external"] && !given["node-ip"]
	return r, nil
}

func applyFlag(r *kubelet.Registration, host Host, name, value string) error {
	switch name {
	case "provider-id":
		r.ProviderID = value
	case "node-ip":
		ip, err := netip.ParseAddr(value)
		if err != nil {
			return err
		}
		if ip != host.Address {
			return fmt.Errorf("this machine has no address %s, it has %s", ip, host.Address)
		}
	case "node-labels":
		for _, pair := range strings.FieldsFunc(value, isComma) {
			key, label, ok := strings.Cut(pair, "=")
			if !ok {
				return fmt.Errorf("%q is not key=value", pair)
			}
			r.Labels[key] = label
		}
	case "register-with-taints":
		for _, text := range strings.FieldsFunc(value, isComma) {
			taint, err := parseTaint(text)
			if err != nil {
				return err
			}
			r.Taints = append(r.Taints, taint)
		}
	case "cloud-provider":
		if value == "external" {
			// The cloud controller manager removes it.
			r.Taints = append(r.Taints, corev1.Taint{
				Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule,
			})
		}
	default:
		host.Console.Warn("kubelet flag has no effect here", "flag", name)
	}
	return nil
}

func isComma(r rune) bool { return r == ',' }

// parseTaint reads key=value:effect or key:effect.
func parseTaint(text string) (corev1.Taint, error) {
	pair, effect, ok := strings.Cut(text, ":")
	if !ok || effect == "" {
		return corev1.Taint{}, fmt.Errorf("%q is not key=value:effect", text)
	}
	key, value, _ := strings.Cut(pair, "=")
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, nil
}
