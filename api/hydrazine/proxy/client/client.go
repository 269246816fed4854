// Package client speaks to hydrazine-proxy. It needs nothing but gRPC.
//
//	c, err := client.Dial("hydrazine.example.com:9661", client.Files{Certificate: "tls.crt", Key: "tls.key", Authorities: "ca.crt"})
//	...
//	group, err := c.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Name: "blue", Spec: spec})
//	...
//	group, err = c.WaitResourceGroup(ctx, "", "blue")
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// serviceConfig repeats what has failed because a proxy couldn't be reached, or couldn't reach its API server. All calls may
// be repeated.
const serviceConfig = `{
  "methodConfig": [{
    "name": [
      {"service": "bedplate.hydrazine.proxy.v1.ResourceGroups"},
      {"service": "bedplate.hydrazine.proxy.v1.ManagedResources"},
      {"service": "bedplate.hydrazine.proxy.v1.PublicIPs"}
    ],
    "retryPolicy": {
      "maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 3,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

// Files are where the client's certificate is, and whom it trusts. All are PEM. They are read for each connection, so that
// they can be replaced at any time.
type Files struct {
	// Certificate is the client's own, whose organization is the tenant, or the operator.
	Certificate string
	// Key is the certificate's private key.
	Key string
	// Authorities are the CAs that the proxy's certificate may be signed by.
	Authorities string
}

// Client is a connection to a proxy.
type Client struct {
	ResourceGroups   proxyv1.ResourceGroupsClient
	ManagedResources proxyv1.ManagedResourcesClient
	PublicIPs        proxyv1.PublicIPsClient

	connection *grpc.ClientConn
}

// Dial returns a client of the proxy at an address, such as hydrazine.example.com:9661. It connects with the first call.
func Dial(address string, files Files, options ...grpc.DialOption) (*Client, error) {
	if _, err := files.config(); err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport{credentials.NewTLS(nil), files}),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return &Client{
		ResourceGroups:   proxyv1.NewResourceGroupsClient(connection),
		ManagedResources: proxyv1.NewManagedResourcesClient(connection),
		PublicIPs:        proxyv1.NewPublicIPsClient(connection),
		connection:       connection,
	}, nil
}

// Close ends the connection, and the calls that are under way.
func (c *Client) Close() error { return c.connection.Close() }

func (f Files) config() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	trusted, err := os.ReadFile(f.Authorities)
	if err != nil {
		return nil, fmt.Errorf("read the authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("read the authorities: %s has no certificate", f.Authorities)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: []tls.Certificate{certificate}}, nil
}

// transport reads the files for each connection.
type transport struct {
	credentials.TransportCredentials
	files Files
}

// ClientHandshake implements credentials.TransportCredentials.
func (t transport) ClientHandshake(ctx context.Context, host string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := t.files.config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, host, raw)
}

// ServerHandshake implements credentials.TransportCredentials.
func (t transport) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are a client's credentials")
}

// Clone implements credentials.TransportCredentials.
func (t transport) Clone() credentials.TransportCredentials { return t }
