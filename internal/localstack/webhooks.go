package localstack

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

// webhookServer is how the API server reaches the webhooks of one manager.
type webhookServer struct {
	port    int
	certDir string // with tls.crt and tls.key
	ca      []byte
}

// newWebhookServer chooses a port. All servers have the same certificate, which the first one makes.
func (s *Stack) newWebhookServer() (webhookServer, error) {
	dir := filepath.Join(s.cfg.Dir, "webhooks")
	if s.webhookCA == nil {
		authority, err := pki.NewAuthority("webhooks")
		if err != nil {
			return webhookServer{}, err
		}
		pair, err := authority.Sign(pki.Leaf{
			CommonName: "webhooks", IPs: []net.IP{net.IPv4(127, 0, 0, 1)},
			Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		if err != nil {
			return webhookServer{}, err
		}
		if err := pki.Dir(dir).Write("tls", pair); err != nil {
			return webhookServer{}, err
		}
		s.webhookCA = authority.CertPEM()
	}
	port, err := s.block.Port()
	return webhookServer{port: port, certDir: dir, ca: s.webhookCA}, err
}

// flags are those of the manager: Cluster API's and Bedplate's have the same.
func (w webhookServer) flags() []string {
	return []string{fmt.Sprintf("--webhook-port=%d", w.port), "--webhook-cert-dir=" + w.certDir}
}

// serve makes an object's webhooks point to the server instead of a Service, to which there is no route.
func (w webhookServer) serve(object *unstructured.Unstructured) {
	if object.GetKind() == "CustomResourceDefinition" {
		conversion, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "conversion", "webhook")
		w.rewrite(conversion)
		return
	}
	webhooks, _, _ := unstructured.NestedFieldNoCopy(object.Object, "webhooks")
	list, _ := webhooks.([]any)
	for _, webhook := range list {
		w.rewrite(webhook)
	}
}

// rewrite changes the clientConfig of one webhook. Anything without a clientConfig stays as it is.
func (w webhookServer) rewrite(webhook any) {
	fields, _ := webhook.(map[string]any)
	config, _ := fields["clientConfig"].(map[string]any)
	if config == nil {
		return
	}
	path, _, _ := unstructured.NestedString(config, "service", "path")
	config["url"] = fmt.Sprintf("https://127.0.0.1:%d%s", w.port, path)
	config["caBundle"] = base64.StdEncoding.EncodeToString(w.ca)
	delete(config, "service")
}
