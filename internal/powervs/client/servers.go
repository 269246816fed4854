package client

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_p_vm_instances"
	"github.com/IBM-Cloud/power-go-client/power/models"
	"github.com/go-openapi/strfmt"

	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

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
func (c *Client) Servers(ctx context.Context, in Workspace) ([]Server, error) {
	return listInWorkspace[Server](ctx, c, in, "list servers", "pvmInstances", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_p_vm_instances.NewPcloudPvminstancesGetallParamsWithContext(ctx)
		p.CloudInstanceID = in.ID
		return drained(to.servers().PcloudPvminstancesGetall(p, to.in))
	})
}

// Server returns a server.
func (c *Client) Server(ctx context.Context, in Workspace, id string) (*Server, error) {
	return get[Server](ctx, c, c.inWorkspace(in, "get server", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_p_vm_instances.NewPcloudPvminstancesGetParamsWithContext(ctx)
		p.CloudInstanceID, p.PvmInstanceID = in.ID, id
		return drained(to.servers().PcloudPvminstancesGet(p, to.in))
	}, id), id)
}

// CreateServer makes a server. Conflict means that another one of the workspace has the name.
func (c *Client) CreateServer(ctx context.Context, in Workspace, request ServerRequest) (*Server, error) {
	r := c.inWorkspace(in, "create server", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_p_vm_instances.NewPcloudPvminstancesPostParamsWithContext(ctx)
		p.CloudInstanceID, p.Body = in.ID, request.body()
		_, _, _, err := to.servers().PcloudPvminstancesPost(p, to.in)
		return err
	})
	made := &listing[Server]{}
	r.create, r.classify = true, request.hidden
	r.read = func(b *bounds.Body) error {
		if err := made.read(b); err != nil {
			return err
		}
		if len(made.items) != 1 || made.items[0].Name != request.Name {
			return errors.New("unexpected answer: it isn't the server that was to be made")
		}
		return nil
	}
	if err := c.ask(ctx, r); err != nil {
		return nil, err
	}
	return &made.items[0], nil
}

// DeleteServer starts the deletion of a server. It is over when Server answers NotFound.
func (c *Client) DeleteServer(ctx context.Context, in Workspace, id string) error {
	return c.ask(ctx, c.inWorkspace(in, "delete server", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_p_vm_instances.NewPcloudPvminstancesDeleteParamsWithContext(ctx)
		p.CloudInstanceID, p.PvmInstanceID = in.ID, id
		return drained(to.servers().PcloudPvminstancesDelete(p, to.in))
	}, id))
}

func (r ServerRequest) userData() string { return base64.StdEncoding.EncodeToString(r.UserData) }

// hidden classifies an answer without the user data, which contain secrets.
func (r ServerRequest) hidden(a httpclient.Answer) httpclient.Meaning {
	m := classify(a)
	if data := r.userData(); data != "" {
		m.Text = strings.ReplaceAll(m.Text, data, "[redacted]")
	}
	return m
}

func (r ServerRequest) body() *models.PVMInstanceCreate {
	return &models.PVMInstanceCreate{
		ServerName: &r.Name, ImageID: &r.ImageID, Networks: []*models.PVMInstanceAddNetwork{{NetworkID: &r.NetworkID}},
		SysType: r.SystemType, ProcType: &r.ProcessorType, Processors: &r.Processors, Memory: &r.MemoryGiB, KeyPairName: r.SSHKey,
		UserData: r.userData(), UserTags: r.UserTags,
	}
}

func (a *powerAPI) servers() p_cloud_p_vm_instances.ClientService {
	return p_cloud_p_vm_instances.New(a.power, strfmt.Default)
}
