package sim

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/simulator"
)

// Config is what is simulated.
type Config struct {
	// Users are those that IM knows, with their passwords. Without any, as by default in IM, everybody is a user: whoever has the same login
	// is the same one.
	Users map[string]string `json:"users,omitempty"`
	// Version is what IM says that it is; default DefaultVersion.
	Version string `json:"version,omitempty"`
	// NoFilter lets lists ignore the filter, as older releases do.
	NoFilter bool `json:"noFilter,omitempty"`
	// ListRecords lets lists show the records that have come back after a deletion.
	ListRecords bool `json:"listRecords,omitempty"`
	// OutputsByAdmin lets an infrastructure whose template has the output kubeconfig be configured only when SetKubeconfig has said what that
	// is: who runs the simulator makes the clusters.
	OutputsByAdmin bool `json:"outputsByAdmin,omitempty"`
	// Kubeconfig is the output of that name of all infrastructures; default one that leads to nothing.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Files are those of the server, which a header may name.
	Files map[string]string `json:"files,omitempty"`
	// Speed is the number of simulated seconds per real second; 1, the default, is real time.
	Speed float64 `json:"speed,omitempty"`
	Times Times   `json:"times,omitzero"`
}

// Times are simulated durations. A zero value means that of DefaultTimes, and a negative one none.
type Times struct {
	// Launch is the time from the request for a virtual machine until it is running. Until the first ones are, the infrastructure is being
	// created, and can't be deleted.
	Launch metav1.Duration `json:"launch,omitzero"`
	// Configure is the time from then on until it is configured, also when it is configured again.
	Configure metav1.Duration `json:"configure,omitzero"`
	// Delete is the time from an asynchronous DELETE to its end.
	Delete metav1.Duration `json:"delete,omitzero"`
	// Race is for how long after a DELETE a read of the state brings the record back, for good.
	Race metav1.Duration `json:"race,omitzero"`
	// Lag is how long after its creation an infrastructure gets into lists.
	Lag metav1.Duration `json:"lag,omitzero"`
}

// DefaultVersion is the release whose behaviour this is.
const DefaultVersion = "2.0.0"

// UsersFile is a file that every server has.
const UsersFile = "/etc/passwd"

// DefaultTimes are about those of the real service.
func DefaultTimes() Times {
	second := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Second} }
	return Times{Launch: second(60), Configure: second(600), Delete: second(30), Race: second(1), Lag: second(1)}
}

// Default is an IM that lets everybody in.
func Default() Config {
	return Config{
		Version: DefaultVersion, Speed: 1, Times: DefaultTimes(), Files: map[string]string{UsersFile: "root:x:0:0:root:/root:/bin/bash\n"},
	}
}

// Load reads a configuration in YAML. What it doesn't say is as in Default, and unknown fields are an error.
func Load(path string) (Config, error) {
	return simulator.Load(path, Default(), Config.check)
}

func (c Config) check() error {
	_, err := c.complete()
	return err
}

// complete fills in defaults.
func (c Config) complete() (Config, error) {
	if c.Speed == 0 {
		c.Speed = 1
	}
	if c.Version == "" {
		c.Version = DefaultVersion
	}
	defaults := DefaultTimes()
	for value, fallback := range map[*metav1.Duration]metav1.Duration{
		&c.Times.Launch: defaults.Launch, &c.Times.Configure: defaults.Configure, &c.Times.Delete: defaults.Delete,
		&c.Times.Race: defaults.Race, &c.Times.Lag: defaults.Lag,
	} {
		if value.Duration == 0 {
			*value = fallback
		}
		value.Duration = max(value.Duration, 0)
	}
	if c.Speed < 0 {
		return c, errors.New("speed must be positive")
	}
	return c, nil
}
