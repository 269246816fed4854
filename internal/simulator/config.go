package simulator

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Load reads a configuration in YAML over what config has already. Unknown fields are an error, and so is what check refuses.
func Load[C any](path string, config C, check func(C) error) (C, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalStrict(data, &config)
	}
	if err == nil {
		err = check(config)
	}
	if err != nil {
		return config, fmt.Errorf("read simulator configuration %s: %w", path, err)
	}
	return config, nil
}
