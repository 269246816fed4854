package publish

import (
	"encoding/pem"
	"net/http/httptest"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// What the tests of the whole controller need of this package.
const (
	ReasonUnpublished = reasonUnpublished
	CallTimeout       = callTimeout
	Strangers         = strangers
)

// KubeconfigOf one cluster and one user.
func KubeconfigOf(g Gomega, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) []byte {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"], config.AuthInfos["u"] = cluster, user
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	data, err := clientcmd.Write(*config)
	g.Expect(err).NotTo(HaveOccurred())
	return data
}

// CertificateOf a server.
func CertificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
