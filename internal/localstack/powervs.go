package localstack

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	powervsconfig "github.com/bedplate/bedplate/config/powervs"
	"github.com/bedplate/bedplate/internal/localstack/boot"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
)

// PowerVSManager is the name of a child, for Kill and Restart; also the tool's name.
const PowerVSManager = "powervs-manager"

const (
	powervsNamespace = "bedplate-powervs-system"
	// powervsCredentials is the Secret that clusters log in with that name none.
	powervsCredentials = "bedplate-powervs-credentials"
)

// PowerVSTools are those of a stack with the system powervs.
func PowerVSTools() []string { return slices.Concat(boot.Tools, capiTools(), []string{PowerVSManager}) }

// PowerVS is a running simulator of an account of IBM Cloud in which there is nothing, as who may use it sees it.
type PowerVS struct {
	URL    string // of all services and, below /simulator, of the simulator's own switches
	APIKey string // a secret

	Account, ResourceGroup, Zone, Region, VPCRegion, SSHKey string

	// Network is what the first cluster's servers can have their addresses from, so that they can listen on them.
	Network netip.Prefix
	// balancers is where load balancers have theirs from.
	balancers netip.Prefix
}

func newPowerVS(block *loopback.Block) *PowerVS {
	return &PowerVS{
		URL:    "http://" + netip.AddrPortFrom(block.Address(254, 3), simulatorPort).String(),
		APIKey: rand.Text(), Account: strings.ToLower(rand.Text()), ResourceGroup: "Default",
		Zone: "dal10", Region: "dal", VPCRegion: "us-south", SSHKey: "operators",
		Network: netip.PrefixFrom(block.Address(0, 0), 24), balancers: netip.PrefixFrom(block.Address(200, 0), 24),
	}
}

// world is the simulator's configuration.
func (p *PowerVS) world() map[string]any {
	return map[string]any{
		"account":        p.Account,
		"apiKeys":        []any{map[string]any{"value": p.APIKey, "iamId": "IBMid-lab"}},
		"resourceGroups": []any{map[string]any{"id": strings.ToLower(rand.Text()), "name": p.ResourceGroup, "default": true}},
		"zones": []any{map[string]any{
			"name": p.Zone, "region": p.VPCRegion, "capabilities": map[string]bool{"power-edge-router": true},
			"systemTypes": []string{"e980", "s1022", "e1050", "e1080"},
		}},
		"sshKeys":   []string{p.SSHKey},
		"balancers": p.balancers,
		"speed":     60, // a minute per second: a server that needs four minutes is there after four seconds
	}
}

// Variables returns the values of the examples' variables that depend on the account.
func (p *PowerVS) Variables() map[string]string {
	return map[string]string{
		"IBMCLOUD_API_KEY": p.APIKey, "IBMACCOUNT_ID": p.Account, "IBM_RESOURCE_GROUP": p.ResourceGroup,
		"IBMPOWERVS_ZONE": p.Zone, "IBMPOWERVS_REGION": p.Region, "IBMPOWERVS_SSHKEY_NAME": p.SSHKey,
		"IBMPOWERVS_DHCP_CIDR": p.Network.String(), "IBMVPC_REGION": p.VPCRegion,
		"COS_BUCKET_NAME": "images", "COS_BUCKET_REGION": p.VPCRegion, "COS_OBJECT_NAME": "kubernetes.ova.gz",
	}
}

// endpoints of the services, by their names.
func (p *PowerVS) endpoints() map[string]string {
	endpoints := map[string]string{"vpc": p.URL + "/vpc/" + p.VPCRegion + "/v1", "transitgateway": p.URL + "/v1"}
	for _, service := range []string{"iam", "rm", "rc", "powervs", "cos"} {
		endpoints[service] = p.URL
	}
	return endpoints
}

// Secret logs in to the account, and says where it is: commands that aren't told by flags know it from there.
func (p *PowerVS) Secret(namespace, name string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"apiKey": p.APIKey},
	}
	for service, url := range p.endpoints() {
		secret.StringData[service+"Endpoint"] = url
	}
	return secret
}

// StartPowerVS installs the system powervs and starts its simulator and its manager.
func (s *Stack) StartPowerVS(ctx context.Context) (*PowerVS, error) {
	p := newPowerVS(s.block)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return s.step("IBM Cloud simulator", func() error { return s.startSimulator(groupCtx, "ibmcloud", p.URL, p.world()) })
	})
	group.Go(func() error { return s.StartPowerVSManager(groupCtx, p) })
	return p, group.Wait()
}

// StartPowerVSManager installs the system powervs and starts its manager, for clusters in an account that may be another stack's.
func (s *Stack) StartPowerVSManager(ctx context.Context, p *PowerVS) error {
	if err := s.cfg.Tools.Require(PowerVSManager); err != nil {
		return err
	}
	return s.step("PowerVS provider", func() error { return s.startPowerVSManager(ctx, p) })
}

// startPowerVSManager as a user does that runs the existing provider's manifests: with credentials for clusters that name none.
func (s *Stack) startPowerVSManager(ctx context.Context, p *PowerVS) error {
	var regional []string
	endpoints := p.endpoints()
	for _, service := range slices.Sorted(maps.Keys(endpoints)) {
		if service != "powervs" {
			regional = append(regional, service+"="+endpoints[service])
		}
	}
	err := s.startManager(ctx, manager{
		tool: PowerVSManager, namespace: powervsNamespace, serviceAccount: "bedplate-powervs-manager",
		manifests: []fs.FS{powervsconfig.CRDs, powervsconfig.RBAC, powervsconfig.Webhooks}, port: 9490,
		flags: []string{
			"--service-endpoint=" + p.VPCRegion + ":" + strings.Join(regional, ",") + ";" + p.Region + ":powervs=" + endpoints["powervs"],
			"--default-credentials=" + powervsNamespace + "/" + powervsCredentials,
			"--feature-gates=BootstrapFormatIgnition=true",
		},
	})
	if err != nil {
		return err
	}
	if err := s.client.Create(ctx, p.Secret(powervsNamespace, powervsCredentials)); err != nil {
		return fmt.Errorf("make the default credentials: %w", err)
	}
	return nil
}
