package kubeadm

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	configMapName = "kubeadm-config"
	configMapKey  = "ClusterConfiguration"
)

//go:embed manifests.yaml
var manifests string

// clusterObjects returns what "kubeadm init" creates in a new cluster.
func clusterObjects(config *InitConfig, admin *rest.Config, endpoint string) ([]client.Object, error) {
	objects, err := decodeManifests(strings.NewReplacer(
		"IMAGE_REPOSITORY", config.Cluster.ImageRepository,
		"KUBERNETES_VERSION", config.Cluster.KubernetesVersion,
	).Replace(manifests))
	if err != nil {
		return nil, err
	}
	clusterConfiguration, err := yaml.Marshal(config.Cluster)
	if err != nil {
		return nil, fmt.Errorf("encode the ClusterConfiguration: %w", err)
	}
	clusterInfo, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{
		"": {Server: "https://" + endpoint, CertificateAuthorityData: admin.CAData},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode cluster-info: %w", err)
	}
	return append(objects,
		configMap(metav1.NamespaceSystem, configMapName, configMapKey, clusterConfiguration),
		configMap(metav1.NamespacePublic, bootstrapapi.ConfigMapClusterInfo, bootstrapapi.KubeConfigKey, clusterInfo),
	), nil
}

func configMap(namespace, name, key string, value []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{key: string(value)},
	}
}

func decodeManifests(text string) ([]client.Object, error) {
	var objects []client.Object
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decode manifests: %w", err)
		}
		objects = append(objects, decoded.(client.Object))
	}
}

// create creates all objects that don't exist yet. A new API server needs a moment until its system namespaces exist.
func create(ctx context.Context, c client.Client, objects []client.Object) error {
	for _, object := range objects {
		var last error
		err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			last = c.Create(ctx, object)
			if apierrors.IsNotFound(last) {
				return false, nil
			}
			return true, client.IgnoreAlreadyExists(last)
		})
		if err != nil {
			return fmt.Errorf("create %T %s: %w", object, client.ObjectKeyFromObject(object), errors.Join(err, last))
		}
	}
	return nil
}
