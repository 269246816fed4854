package cloudprovider

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/egress"
)

const (
	defaultInterval = 30 * time.Second
	minInterval     = time.Second
	// defaultTimeout is shorter than the client's own: nothing is created here.
	defaultTimeout = 30 * time.Second
)

// Config is what --cloud-config says.
type Config struct {
	// Published says that the management cluster publishes the instances in this one. Then nothing else may be set.
	Published bool `json:"published,omitempty"`

	// Site whose instances the cluster's nodes are.
	Site Site `json:"site,omitzero"`
	// Credentials is a folder that has the keys of a credentials Secret as files, as the kubelet mounts one.
	Credentials string `json:"credentials,omitempty"`
	// Interval between two lists of the site's instances.
	Interval metav1.Duration `json:"interval,omitzero"`

	// Timeout of each call of the BMM API.
	Timeout time.Duration `json:"-"`
	// Egress says where the credentials may lead to.
	Egress egress.Policy `json:"-"`
	// AdditionalLabels puts more labels on nodes than those that Kubernetes knows.
	AdditionalLabels bool `json:"-"`
}

// Site is named by its ID or by its name.
type Site struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// ReadConfig reads a cloud-config file, in YAML. An unknown key is an error.
func ReadConfig(file string) (Config, error) {
	if file == "" {
		return Config{}, errors.New("there is no cloud config: name its file with --cloud-config")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("read the cloud config: %w", err)
	}
	var config Config
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return Config{}, fmt.Errorf("read the cloud config %s: %w", file, err)
	}
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return Config{}, fmt.Errorf("cloud config %s: %w", file, err)
	}
	return config, nil
}

func (c Config) withDefaults() Config {
	c.Interval.Duration = cmp.Or(c.Interval.Duration, defaultInterval)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Published && (c.Site != Site{} || c.Credentials != ""):
		return errors.New("with published: true there is no site and there are no credentials: what is published says it all")
	case c.Published:
		return nil
	case (c.Site.ID == "") == (c.Site.Name == ""):
		return errors.New("site needs either an id or a name")
	case c.Site.ID != "" && !providerid.IsCanonical(c.Site.ID):
		return fmt.Errorf("site.id %q is not a UUID in lower case", c.Site.ID)
	case !filepath.IsAbs(c.Credentials):
		return errors.New("credentials must be the absolute path of a folder")
	case c.Interval.Duration < minInterval:
		return fmt.Errorf("interval must be at least %s", minInterval)
	}
	return nil
}

// secret is the folder as the name of a Secret: as text it is the folder's path.
func (c Config) secret() types.NamespacedName {
	folder := filepath.Clean(c.Credentials)
	return types.NamespacedName{Namespace: filepath.Dir(folder), Name: filepath.Base(folder)}
}
