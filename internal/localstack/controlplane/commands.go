package controlplane

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

func apiserver(c Config) process.Command {
	return process.Command{
		Name: "kube-apiserver", Path: c.Tools.Path("kube-apiserver"), Log: c.log("kube-apiserver"),
		Args: append([]string{
			"--bind-address=" + c.Address.String(),
			"--advertise-address=" + c.Address.String(),
			fmt.Sprintf("--secure-port=%d", APIPort),
			"--etcd-servers=https://" + hostPort(c.Address, EtcdPort),
			"--etcd-cafile=" + c.PKI.Cert(pki.EtcdCA),
			"--etcd-certfile=" + c.PKI.Cert("apiserver-etcd-client"),
			"--etcd-keyfile=" + c.PKI.Key("apiserver-etcd-client"),
			"--tls-cert-file=" + c.PKI.Cert("apiserver"),
			"--tls-private-key-file=" + c.PKI.Key("apiserver"),
			"--client-ca-file=" + c.PKI.Cert(pki.ClusterCA),
			"--kubelet-client-certificate=" + c.PKI.Cert("apiserver-kubelet-client"),
			"--kubelet-client-key=" + c.PKI.Key("apiserver-kubelet-client"),
			"--kubelet-preferred-address-types=InternalIP",
			"--proxy-client-cert-file=" + c.PKI.Cert("front-proxy-client"),
			"--proxy-client-key-file=" + c.PKI.Key("front-proxy-client"),
			"--requestheader-client-ca-file=" + c.PKI.Cert(pki.FrontProxyCA),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + c.PKI.ServiceAccountPub(),
			"--service-account-signing-key-file=" + c.PKI.ServiceAccountKey(),
			"--service-cluster-ip-range=" + c.ServiceCIDR,
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--enable-bootstrap-token-auth=true",
			"--allow-privileged=true",
			// Endpoints may not be loopback addresses, so the API server can't announce itself in one.
			"--endpoint-reconciler-type=none",
			"--profiling=false",
		}, auditFlags(c)...),
	}
}

func (c *ControlPlane) controllerManager() (process.Command, error) {
	kubeconfig := filepath.Join(c.cfg.Dir, "controller-manager.conf")
	if err := c.writeLocalKubeconfig(kubeconfig, "system:kube-controller-manager"); err != nil {
		return process.Command{}, err
	}
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--secure-port=0", // its health and metrics aren't used
		"--cluster-name=" + c.cfg.Name,
		"--cluster-signing-cert-file=" + c.cfg.PKI.Cert(pki.ClusterCA),
		"--cluster-signing-key-file=" + c.cfg.PKI.Key(pki.ClusterCA),
		"--root-ca-file=" + c.cfg.PKI.Cert(pki.ClusterCA),
		"--service-account-private-key-file=" + c.cfg.PKI.ServiceAccountKey(),
		"--use-service-account-credentials=true",
		"--leader-elect=false",
		"--profiling=false",
	}
	if len(c.cfg.Controllers) > 0 {
		args = append(args, "--controllers="+strings.Join(c.cfg.Controllers, ","))
	}
	if c.cfg.PodCIDR != "" {
		args = append(args, "--allocate-node-cidrs=true", "--cluster-cidr="+c.cfg.PodCIDR,
			"--service-cluster-ip-range="+c.cfg.ServiceCIDR)
	}
	return process.Command{
		Name: "kube-controller-manager", Path: c.cfg.Tools.Path("kube-controller-manager"),
		Log:  c.cfg.log("kube-controller-manager"),
		Args: append(args, c.cfg.ControllerManagerArgs...),
	}, nil
}

func (c *ControlPlane) scheduler() (process.Command, error) {
	kubeconfig := filepath.Join(c.cfg.Dir, "scheduler.conf")
	if err := c.writeLocalKubeconfig(kubeconfig, "system:kube-scheduler"); err != nil {
		return process.Command{}, err
	}
	return process.Command{
		Name: SchedulerTool, Path: c.cfg.Tools.Path(SchedulerTool), Log: c.cfg.log(SchedulerTool),
		Args: []string{
			"--kubeconfig=" + kubeconfig,
			"--secure-port=0", // as the controller manager's
			"--leader-elect=false",
			"--profiling=false",
		},
	}, nil
}

func (c *ControlPlane) apiserverReady(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.admin)
	if err != nil {
		return fmt.Errorf("client for the API server: %w", err)
	}
	defer client.CloseIdleConnections()
	return process.AnswersOK(ctx, client, c.admin.Host+"/readyz")
}
