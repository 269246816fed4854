package cluster

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// network is a network of a workspace, with the DHCP server that was made with it in one call, and goes with it. A network may be without
// one.
type network struct {
	ID, Name string
	DHCP     *ibm.DHCPServer
}

func networkOf(d ibm.DHCPServer) network {
	return network{ID: d.Network.ID, Name: d.Network.Name, DHCP: &d}
}

func place(in graph.Scope) ibm.Workspace {
	return ibm.Workspace{Zone: in[infrav1.KindZone], ID: in[infrav1.KindWorkspace]}
}

func networkKind(api *ibm.Client, service *graph.Service) *graph.Kind[network] {
	return &graph.Kind[network]{
		Name: infrav1.KindNetwork, Service: service, Within: []string{infrav1.KindZone, infrav1.KindWorkspace},
		ID: func(n *network) string { return n.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*network, error) {
			server, err := serverOf(ctx, api, place(in), id)
			if err != nil || server != nil {
				return server, err
			}
			plain, err := api.Network(ctx, place(in), id)
			if err != nil {
				return nil, err
			}
			return &network{ID: plain.ID, Name: plain.Name}, nil
		},
		Find:  titled(func(ctx context.Context, key graph.Key) ([]network, error) { return findNetworks(ctx, api, key) }),
		Phase: networkPhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			server, err := serverOf(ctx, api, place(in), id)
			switch {
			case err != nil:
				return err
			case server == nil:
				return &fault.Error{Class: fault.Busy, Err: fmt.Errorf("the DHCP server of network %s is gone, and the network should go, too", id)}
			}
			return api.DeleteDHCPServer(ctx, place(in), server.DHCP.ID)
		},
	}
}

// serverOf is a network with its DHCP server; nil if it has none, or doesn't exist.
func serverOf(ctx context.Context, api *ibm.Client, in ibm.Workspace, id string) (*network, error) {
	servers, err := api.DHCPServers(ctx, in)
	if i := slices.IndexFunc(servers, func(d ibm.DHCPServer) bool { return d.Network.ID == id }); err == nil && i >= 0 {
		return ptr.To(networkOf(servers[i])), nil
	}
	return nil, err
}

// findNetworks returns those that have the title, or else that which a create for it has made: only a DHCP server makes networks, and it
// gives them names of its own. The name of the key says which.
func findNetworks(ctx context.Context, api *ibm.Client, key graph.Key) ([]network, error) {
	all, err := api.Networks(ctx, place(key.Scope))
	if err != nil {
		return nil, err
	}
	servers, err := api.DHCPServers(ctx, place(key.Scope))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{key.Title, ibm.DHCPNetworkName(serverName(key))} {
		var found []network
		for _, d := range servers { // its network may not be listed yet
			if d.Network.Name == name {
				found = append(found, networkOf(d))
			}
		}
		for _, n := range all {
			if n.Name == name && !slices.ContainsFunc(found, func(f network) bool { return f.ID == n.ID }) {
				found = append(found, network{ID: n.ID, Name: n.Name})
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

var ofServer = regexp.MustCompile(`^DHCPSERVER([a-zA-Z0-9-]{1,63})_Private$`)

// serverName is that of the DHCP server to make: the one by which its network gets its title, if there is such a name, or else the one in
// the key.
func serverName(key graph.Key) string {
	if parts := ofServer.FindStringSubmatch(key.Title); parts != nil {
		return parts[1]
	}
	return key.Name[len(networkKey)+1:]
}

func networkPhase(n *network) phases.Phase {
	switch {
	case n.DHCP == nil || n.DHCP.Status == "ACTIVE":
		return phases.Ready()
	case n.DHCP.Status == "ERROR":
		return phases.Failed("DHCP server %s of network %s is in status ERROR: delete it to get another one, or ask IBM's support",
			n.DHCP.ID, n.Name)
	}
	return phases.Waiting("DHCP server %s of network %s is in status %s", n.DHCP.ID, n.Name, n.DHCP.Status)
}

// wantNetwork adds the network that the spec names, or one with a DHCP server.
func (r *resources) wantNetwork() *graph.Handle[network] {
	server := r.object.Spec.DHCPServer
	want := graph.Want[network]{
		Key: networkKey + "/" + r.object.DHCPServerName(), Condition: infrav1.NetworkReadyCondition, After: []graph.Ref{r.workspace, r.zone},
		Create: func(_ context.Context, key graph.Key) (graph.Call[network], error) {
			request := dhcpRequest(serverName(key), server)
			return func(ctx context.Context) (*network, error) {
				made, err := r.api.CreateDHCPServer(ctx, place(key.Scope), request)
				if err != nil {
					return nil, err
				}
				return ptr.To(networkOf(*made)), nil
			}, nil
		},
	}
	given := cmp.Or(r.object.Spec.Network, &infrav1.IBMPowerVSResourceReference{})
	switch {
	case given.ID != "":
		want.Claim = graph.Use(given.ID)
	case given.Name != "":
		want.Claim = graph.UseOrCreate(given.Name)
	case server != nil && server.ID != "":
		want.Claim = graph.UseFound("DHCP server "+server.ID, func(ctx context.Context) (string, error) {
			return r.networkOfServer(ctx, server.ID)
		})
	default:
		want.Claim = graph.CreateNamed(r.object.NetworkName())
	}
	if given.ID == "" && (server == nil || server.ID == "") {
		compareWithSpec(r, &want, fmt.Sprintf("DHCP server %s was made by a spec.dhcpServer that was changed meanwhile, and it can't be "+
			"changed: put back what it was", r.object.DHCPServerName()), dhcpRequest("", server))
	}
	return graph.Add(r.graph, r.kinds.Network, want)
}

func dhcpRequest(name string, spec *infrav1.DHCPServer) ibm.DHCPServerRequest {
	request := ibm.DHCPServerRequest{Name: name, DNSServer: "1.1.1.1", SNAT: ptr.To(true)}
	if spec != nil {
		request.CIDR, request.DNSServer = spec.Cidr, cmp.Or(spec.DNSServer, request.DNSServer)
		request.SNAT = cmp.Or(spec.Snat, request.SNAT)
	}
	return request
}

func (r *resources) networkOfServer(ctx context.Context, id string) (string, error) {
	d, err := r.api.DHCPServer(ctx, ibm.Workspace{Zone: r.zone.ID(), ID: r.workspace.ID()}, id)
	if err != nil {
		return "", fault.Correct("spec.dhcpServer.id", fmt.Errorf("DHCP server %s: %w", id, err))
	}
	return d.Network.ID, nil
}

// useNetwork adds the network of the user's own. Without one machines name one themselves.
func (r *resources) useNetwork() {
	given := r.object.Spec.Network
	if r.workspace == nil || given == nil || given.ID == "" && given.Name == "" {
		r.graph.Gate(infrav1.NetworkReadyCondition, notWanted)
		return
	}
	want := graph.Want[network]{
		Key: networkKey + "/" + r.object.DHCPServerName(), Condition: infrav1.NetworkReadyCondition, After: []graph.Ref{r.workspace, r.zone},
		Claim: graph.Use(given.ID),
	}
	if given.ID == "" {
		want.Claim = graph.UseFound("name "+given.Name, func(ctx context.Context) (string, error) { return r.findNetwork(ctx, given.Name) })
	}
	r.network = graph.Add(r.graph, r.kinds.Network, want)
}

func (r *resources) findNetwork(ctx context.Context, name string) (string, error) {
	all, err := r.api.Networks(ctx, ibm.Workspace{Zone: r.zone.ID(), ID: r.workspace.ID()})
	found := slices.DeleteFunc(all, func(n ibm.Network) bool { return n.Name != name })
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fault.Invalidf("workspace %s has no network %q: correct spec.network.name", r.workspace.ID(), name)
	case len(found) > 1:
		return "", fault.Invalidf("workspace %s has several networks %q: choose one by spec.network.id", r.workspace.ID(), name)
	}
	return found[0].ID, nil
}
