package sim

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/krake/im"
)

// kubeconfigOutput is the output of a template that a cluster is reached by.
const kubeconfigOutput = "kubeconfig"

// Cluster is an infrastructure with machines that are on, as who could look into the cloud would see it.
type Cluster struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Nodes are the names of the machines that are on.
	Nodes []string `json:"nodes"`
	// Kubeconfig says that SetKubeconfig has been called for it.
	Kubeconfig bool `json:"kubeconfig,omitempty"`
}

// clusterOf the machines of an infrastructure that are on.
func clusterOf(i *infrastructure, now time.Time) Cluster {
	cluster := Cluster{ID: i.id, Name: i.name, Kubeconfig: i.kubeconfig != ""}
	for _, m := range i.machines {
		switch i.stateOf(m, now) {
		case im.Running, im.Configured, im.Unconfigured, im.Unknown:
			cluster.Nodes = append(cluster.Nodes, m.node+"-"+strconv.Itoa(m.id))
		}
	}
	return cluster
}

// Clusters are all infrastructures with a machine that is on.
func (s *Server) Clusters() []Cluster {
	all, now := []Cluster{}, s.Now()
	_ = s.view(now, func() error { // can't fail
		for _, i := range s.all.Items {
			if cluster := clusterOf(i, now); len(cluster.Nodes) > 0 {
				all = append(all, cluster)
			}
		}
		return nil
	})
	return all
}

// reachable reports whether an infrastructure has been configured since its machines were asked for, whatever has become of it later.
func (i *infrastructure) reachable(now time.Time) bool {
	bad := i.trouble != nil && i.trouble.After == 0
	return !bad && !now.Before(i.ready) && len(i.machines) > 0 && !i.lacksKubeconfig()
}

// state of an infrastructure. A read right after a DELETE brings the record back.
func (s *Server) state(c *call) (answer reply, _ error) {
	err := s.view(c.now, func() error {
		i, err := s.find(c)
		if err != nil {
			return err
		}
		if !i.deleted.IsZero() && c.now.Before(i.deleted.Add(s.config.Times.Race.Duration)) {
			i.record, i.machines = true, nil
		}
		state := i.state(c.now)
		answer = reply{media: asJSON, field: "state", value: map[string]any{"state": state.State, "vm_states": state.VMs}}
		return nil
	})
	return answer, err
}

func (s *Server) outputs(c *call) (reply, error) {
	var values map[string]any
	var cluster *Cluster
	_, err := s.found(func(c *call, i *infrastructure) (reply, error) {
		if i.template == nil {
			return reply{}, refuse(http.StatusForbidden, "'outputs' infrastructure property is not valid in this infrastructure")
		}
		values = i.template.outputs()
		if _, has := values[kubeconfigOutput]; has && i.reachable(c.now) {
			if i.kubeconfig != "" {
				values[kubeconfigOutput] = i.kubeconfig
				return reply{}, nil
			}
			made := clusterOf(i, c.now)
			cluster = &made
		}
		return reply{}, nil
	})(c)
	if err == nil && cluster != nil { // not under the lock: it may take long
		values[kubeconfigOutput], err = s.Kubeconfig(*cluster)
	}
	return reply{media: asJSON, field: "outputs", value: values}, err
}

func tosca(_ *call, i *infrastructure) (reply, error) {
	if i.template == nil {
		return reply{}, refuse(http.StatusForbidden, "'tosca' infrastructure property is not valid in this infrastructure")
	}
	return reply{media: textPlain, field: "tosca", value: i.template.text()}, nil
}

func radl(_ *call, i *infrastructure) (reply, error) {
	text := i.radl
	for _, m := range i.machines {
		text += "system " + m.node + " ()\n"
	}
	return reply{media: textPlain, field: "radl", value: text}, nil
}

func contMsg(c *call, i *infrastructure) (reply, error) {
	return reply{media: textPlain, field: "contmsg", value: i.contMsg(c.now)}, nil
}

func data(_ *call, i *infrastructure) (reply, error) {
	text, err := json.Marshal(map[string]any{
		"id": i.id, "deleted": !i.deleted.IsZero(), "extra_info": map[string]string{"TOSCA": i.template.text()},
	})
	return reply{media: asJSON, field: "data", value: string(text)}, err
}

func machinesOf(c *call, i *infrastructure) (reply, error) {
	uris := []string{}
	for _, m := range i.machines {
		uris = append(uris, uri(c.Request, i.id, "vms", strconv.Itoa(m.id)))
	}
	return reply{media: uriList, field: "uri-list", value: uris}, nil
}

// defaultKubeconfig is valid, and leads to nothing.
func defaultKubeconfig(c Cluster) (string, error) {
	return strings.ReplaceAll(`apiVersion: v1
kind: Config
clusters: [{name: ID, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: c2ltdWxhdGVk}}]
contexts: [{name: ID, context: {cluster: ID, user: ID}}]
users: [{name: ID, user: {token: simulated}}]
current-context: ID
`, "ID", "c-"+c.ID), nil
}
