package client

import "context"

// Server is a virtual server (PVM instance).
type Server struct {
	ID   string `json:"pvmInstanceID"`
	Name string `json:"serverName"`
	// Status is BUILD, ACTIVE, ERROR, SHUTOFF or another one.
	Status string `json:"status"`
	// TaskState is what is done with it, such as deleting; empty if nothing is.
	TaskState  string       `json:"taskState"`
	Health     ServerHealth `json:"health"`
	Fault      ServerFault  `json:"fault"`
	ImageID    string       `json:"imageID"`
	SystemType string       `json:"sysType"`
	// ProcessorType is dedicated, shared or capped.
	ProcessorType string  `json:"procType"`
	Processors    float64 `json:"processors"`
	MemoryGiB     float64 `json:"memory"`
	// Networks in which it is. Their addresses may be known to a DHCP server only.
	Networks []ServerNetwork `json:"networks"`
	// UserTags are shown by Client.Server only.
	UserTags []string `json:"userTags"`
}

// ServerHealth is OK, PENDING, WARNING, CRITICAL or another Status, and why.
type ServerHealth struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// ServerFault is why a server is in ERROR; empty otherwise.
type ServerFault struct {
	Message string `json:"message"`
	Details string `json:"details"`
}

// ServerNetwork is how a server is in a network.
type ServerNetwork struct {
	ID   string `json:"networkID"`
	Name string `json:"networkName"`
	MAC  string `json:"macAddress"`
	// IP is empty while it isn't known; ExternalIP unless there is one.
	IP         string `json:"ipAddress"`
	ExternalIP string `json:"externalIP"`
}

// ServerRequest is what CreateServer takes.
type ServerRequest struct {
	Name, ImageID, NetworkID string
	SystemType               string
	// ProcessorType is dedicated, shared or capped.
	ProcessorType string
	Processors    float64
	MemoryGiB     float64
	// SSHKey is the name of a key of the account; optional.
	SSHKey string
	// UserData is what the server boots with, as it is: the client encodes it.
	UserData []byte
	UserTags []string
}

// Servers returns the servers of a workspace, without their tags.
func (c *Client) Servers(ctx context.Context, in Workspace) ([]Server, error) { return nil, errSurface }

// Server returns a server.
func (c *Client) Server(ctx context.Context, in Workspace, id string) (*Server, error) {
	return nil, errSurface
}

// CreateServer makes a server. Conflict means that another one of the workspace has the name.
func (c *Client) CreateServer(ctx context.Context, in Workspace, request ServerRequest) (*Server, error) {
	return nil, errSurface
}

// DeleteServer starts the deletion of a server. It is over when Server answers NotFound.
func (c *Client) DeleteServer(ctx context.Context, in Workspace, id string) error { return errSurface }
