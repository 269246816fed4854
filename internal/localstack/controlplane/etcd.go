package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	etcdTimeout = 5 * time.Second // of a request
	etcdPoll    = 500 * time.Millisecond
)

// startEtcd starts a cluster of one member, or makes this machine one more member of a cluster that runs.
func (c *ControlPlane) startEtcd(ctx context.Context) error {
	if len(c.cfg.EtcdMembers) > 0 {
		return c.joinEtcd(ctx)
	}
	return c.run(ctx, etcd(c.cfg, "new", []string{c.cfg.Member + "=" + c.cfg.peerURL()}), c.etcdHealthy)
}

// joinEtcd does as kubeadm: a learner, which doesn't count for the quorum while it catches up, becomes a voting member.
func (c *ControlPlane) joinEtcd(ctx context.Context) error {
	client, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer client.Close()
	id, members, err := addLearner(ctx, client, c.cfg)
	if err != nil {
		return err
	}
	return c.run(ctx, etcd(c.cfg, "existing", members), func(ctx context.Context) error {
		if err := promote(ctx, client, id); err != nil {
			return err
		}
		return c.etcdHealthy(ctx)
	})
}

// addLearner adds a new member, and retries until the cluster accepts it: that takes one learner at a time, and none
// while its quorum is at risk. The members are returned as etcd's flag --initial-cluster wants them, the new one
// included.
func addLearner(ctx context.Context, client *clientv3.Client, cfg Config) (id uint64, members []string, err error) {
	var added *clientv3.MemberAddResponse
	var last error
	err = wait.PollUntilContextCancel(ctx, etcdPoll, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
		defer cancel()
		added, last = client.MemberAddAsLearner(ctx, []string{cfg.peerURL()})
		return last == nil, nil
	})
	if err != nil {
		return 0, nil, fmt.Errorf("add %s to etcd: %w", cfg.Member, errors.Join(last, err))
	}
	for _, member := range added.Members {
		name := member.Name
		if member.ID == added.Member.ID {
			name = cfg.Member
		}
		for _, url := range member.PeerURLs {
			members = append(members, name+"="+url)
		}
	}
	slices.Sort(members)
	return added.Member.ID, members, nil
}

// promote fails while the learner is behind, or when the answer is lost: the new voter's connections to the others are
// opened again, and for about five seconds (rafthttp's timeout) a cluster of two has no quorum.
func promote(ctx context.Context, client *clientv3.Client, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	_, err := client.MemberPromote(ctx, id)
	if err == nil || errors.Is(err, rpctypes.ErrMemberNotLearner) {
		return nil
	}
	return fmt.Errorf("promote etcd member: %w", err)
}

func etcd(c Config, state string, members []string) process.Command {
	client := "https://" + hostPort(c.Address, EtcdPort)
	return process.Command{
		Name: "etcd", Path: c.Tools.Path("etcd"), Log: c.log("etcd"),
		Args: []string{
			"--name=" + c.Member,
			"--data-dir=" + filepath.Join(c.Dir, "etcd"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + c.peerURL(),
			"--initial-advertise-peer-urls=" + c.peerURL(),
			"--initial-cluster-state=" + state,
			"--initial-cluster=" + strings.Join(members, ","),
			"--cert-file=" + c.PKI.Cert("etcd/server"),
			"--key-file=" + c.PKI.Key("etcd/server"),
			"--client-cert-auth=true",
			"--trusted-ca-file=" + c.PKI.Cert(pki.EtcdCA),
			"--peer-cert-file=" + c.PKI.Cert("etcd/peer"),
			"--peer-key-file=" + c.PKI.Key("etcd/peer"),
			"--peer-client-cert-auth=true",
			"--peer-trusted-ca-file=" + c.PKI.Cert(pki.EtcdCA),
			"--unsafe-no-fsync=true", // data needn't survive a power cut
			"--log-level=warn",
		},
	}
}

func (c Config) peerURL() string { return "https://" + hostPort(c.Address, PeerPort) }

// etcdHealthy asks this machine's etcd as the API server would.
func (c *ControlPlane) etcdHealthy(ctx context.Context) error {
	identity, err := c.etcdIdentity()
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: identity}
	defer transport.CloseIdleConnections()
	return process.AnswersOK(ctx, &http.Client{Transport: transport}, "https://"+hostPort(c.cfg.Address, EtcdPort)+"/health")
}

// etcdClient is a client of the members that are there already.
func (c *ControlPlane) etcdClient() (*clientv3.Client, error) {
	identity, err := c.etcdIdentity()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.cfg.EtcdMembers, TLS: identity, DialTimeout: etcdTimeout, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("client for etcd: %w", err)
	}
	return client, nil
}

// etcdIdentity is the API server's: etcd lets any client do everything.
func (c *ControlPlane) etcdIdentity() (*tls.Config, error) {
	identity, err := tls.LoadX509KeyPair(c.cfg.PKI.Cert("apiserver-etcd-client"), c.cfg.PKI.Key("apiserver-etcd-client"))
	if err != nil {
		return nil, fmt.Errorf("read etcd client certificate: %w", err)
	}
	ca, err := os.ReadFile(c.cfg.PKI.Cert(pki.EtcdCA))
	if err != nil {
		return nil, fmt.Errorf("read etcd CA: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &tls.Config{Certificates: []tls.Certificate{identity}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
