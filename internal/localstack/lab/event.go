package lab

import "github.com/bedplate/bedplate/internal/localstack/overlay"

// State of a step.
type State string

// The states of a step, in the order of their occurrence. Up itself ends with the event whose Lab is set.
const (
	Started State = "started"
	Waiting State = "waiting" // the message says for what
	Done    State = "done"
	Failed  State = "failed" // the message says why
)

// Event is one line of progress.
type Event struct {
	Elapsed float64 `json:"elapsedSeconds"` // since the start of Up
	Step    string  `json:"step,omitempty"` // "" for the lab as a whole
	State   State   `json:"state"`
	Message string  `json:"message,omitempty"`
	Lab     *Lab    `json:"lab,omitempty"`
}

// Lab says how to inspect a running lab.
type Lab struct {
	Dir        string   `json:"dir"`
	PID        int      `json:"pid"`                 // of the supervisor
	Kubeconfig string   `json:"kubeconfig"`          // of the management cluster's administrator
	Simulator  string   `json:"simulator,omitempty"` // URL of the simulated cloud
	Cluster    *Cluster `json:"cluster,omitempty"`

	MachineNamespace string `json:"machineNamespace,omitempty"` // of OpenShift's Machines

	Overlay *Overlay `json:"overlay,omitempty"`

	DPUKubeconfig string `json:"dpuKubeconfig,omitempty"` // of the DPU cluster's administrator
}

// Overlay is what Hydrazine has made of the example's ResourceGroups.
type Overlay struct {
	Namespace string         `json:"namespace"`
	Groups    []string       `json:"groups"`
	Prefix    string         `json:"prefix"` // of the network namespaces, as "ip netns" knows them: PREFIX-host1
	Proxy     Proxy          `json:"proxy"`
	Traffic   []overlay.Flow `json:"traffic"`
}

// Proxy is where Hydrazine is spoken to by gRPC, and the folders with its clients' certificates: tls.crt, tls.key and ca.crt.
type Proxy struct {
	Address  string `json:"address"`
	Tenant   string `json:"tenant"`
	Operator string `json:"operator"`
}

// Cluster is the example's workload cluster.
type Cluster struct {
	System     string `json:"system,omitempty"` // that makes it, if that isn't Cluster API
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Kubeconfig string `json:"kubeconfig"` // of its administrator
}
