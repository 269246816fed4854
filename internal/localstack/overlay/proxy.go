package overlay

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const proxyPort = 9661

// Operators is the organization of clients that may act for every tenant of the proxy.
const Operators = "operators"

// ProxyAddress is where the proxy serves gRPC, in the fabric.
func (o *Overlay) ProxyAddress() netip.AddrPort {
	return netip.AddrPortFrom(o.server(fabric.Proxy), proxyPort)
}

// Proxied is where it is reached from outside the fabric.
func (o *Overlay) Proxied() netip.AddrPort { return o.config.Proxied }

// StartProxy starts the gRPC proxy on its server.
func (o *Overlay) StartProxy(ctx context.Context) error {
	tls, err := o.Certify(fabric.Proxy, o.server(fabric.Proxy), o.config.Proxied.Addr())
	if err != nil {
		return err
	}
	return o.run(ctx, fabric.Proxy, process.Command{
		Name: "hydrazine-proxy", Path: o.config.Proxy, Log: filepath.Join(o.config.Dir, "hydrazine-proxy.log"),
		Args: slices.Concat([]string{
			"--kubeconfig=" + o.config.ProxyKubeconfig, fmt.Sprintf("--listen=:%d", proxyPort), "--operator-organization=" + Operators,
			"--metrics-addr=0", "--health-addr=" + health, "--namespace-prefix=", // the examples' tenant is the namespace that they are in
		}, tls.flags()),
	})
}
