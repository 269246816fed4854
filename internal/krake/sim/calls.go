package sim

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/simulator"
)

// radlNode stands for a node template where RADL is used, of which the simulator knows nothing but that there is a machine in it.
const radlNode = "radl"

// deployment is the body of a request: a template, or RADL.
func deployment(c *call) (t template, radl string, _ error) {
	kinds := mediaTypes(c.Header.Get("Content-Type"))
	has := func(kind string) bool { return slices.Contains(kinds, kind) }
	switch {
	case has(textYAML):
		t, err := parseTemplate(c.body)
		return t, "", err
	case len(kinds) == 0 || has(asJSON) || has(textPlain) || has("*/*") || has("text/*"):
		if len(c.body) == 0 {
			return nil, "", refuse(http.StatusBadRequest, "No RADL data")
		}
		return nil, string(c.body), nil
	}
	return nil, "", refuse(http.StatusUnsupportedMediaType, "Unsupported Media Type %v", kinds)
}

// deploy is deployment whose errors are IM's: whatever goes wrong is 400.
func deploy(c *call, what string) (template, string, error) {
	t, radl, err := deployment(c)
	return t, radl, refusalOf(err, what)
}

func refusalOf(err error, what string) error {
	if _, own := errors.AsType[*simulator.Refusal](err); own || err == nil {
		return err
	}
	return refuse(http.StatusBadRequest, "%s: %v", what, err)
}

func (s *Server) create(c *call) (answer reply, _ error) {
	if _, err := flag(c, "async", false); err != nil {
		return reply{}, err
	}
	dryRun, err := flag(c, "dry_run", false)
	if err != nil {
		return reply{}, err
	}
	t, radl, err := deploy(c, "Error Creating Inf.")
	if err != nil {
		return reply{}, err
	}
	counts := map[string]int{radlNode: 1}
	if t != nil {
		counts, _ = t.machines() // checked
	}
	if dryRun {
		return reply{media: asJSON, value: estimate(c, counts)}, nil
	}
	err = s.view(c.now, func() error {
		i := &infrastructure{id: uuid.NewString(), user: c.who.user, userName: c.who.name, template: t, radl: radl, created: c.now}
		i.byAdmin = s.config.OutputsByAdmin
		i.name, _ = in(t, "metadata")["infra_name"].(string)
		i.cloud = cloudOf(c)
		i.say(c.now, "Creating infrastructure %s", i.id)
		i.resize(c.now, counts, s.config.Times.Launch.Duration)
		if len(s.outcomes) > 0 {
			i.trouble, s.outcomes = &s.outcomes[0], s.outcomes[1:]
		}
		i.lackCloud(c)
		i.begin(c.now, s.config.Times.Configure.Duration)
		s.all.Add(i)
		answer = reply{media: uriList, field: "uri", value: uri(c.Request, i.id), id: i.id}
		return nil
	})
	return answer, err
}

// cloudOf a call: type, host and project of the credential; empty without one.
func cloudOf(c *call) string {
	var place []string
	for _, field := range []string{im.FieldType, im.FieldHost, "tenant", "tenant_domain_id"} {
		if value := c.who.cloud[field]; value != "" {
			place = append(place, value)
		}
	}
	return strings.Join(place, " ")
}

// elsewhere refuses to touch machines with a login of another cloud than they are in. IM itself refuses too little. It takes the login
// for the host that a machine was launched at (IM/connectors/OpenStack.py: get_driver). Without one the machine isn't deleted, but an
// asynchronous DELETE has been answered with 200 by then, and the record stays (IM/InfrastructureInfo.py: destroy). With one of another
// project of that host the machine isn't found, which counts as deleted (OpenStack.py: finalize): record gone, machine left. New machines
// are launched in whatever cloud the login is of (IM/InfrastructureManager.py: AddResource). See https://github.com/grycap/im.
func (i *infrastructure) elsewhere(c *call, what string) error {
	if i.cloud == "" || i.cloud == cloudOf(c) {
		return nil
	}
	kind, _, _ := strings.Cut(i.cloud, " ")
	return refuse(http.StatusBadRequest, "%s: No auth data has been specified to %s.", what, kind)
}

// lackCloud lets all machines fail if nothing logs in to a cloud.
func (i *infrastructure) lackCloud(c *call) {
	if c.who.cloud == nil {
		i.trouble = &Outcome{State: im.Failed, Message: "No correct auth data has been specified for a cloud provider"}
	}
}

// estimate is what machines need.
func estimate(c *call, counts map[string]int) map[string]any {
	if c.who.cloud == nil {
		return map[string]any{}
	}
	compute := []map[string]any{}
	for _, count := range counts {
		for range count {
			compute = append(compute, map[string]any{"cpuCores": 2, "memoryInMegabytes": 4096, "diskSizeInGigabytes": 20})
		}
	}
	return map[string]any{c.who.cloud[im.FieldID]: map[string]any{
		"cloudType": c.who.cloud[im.FieldType], "cloudEndpoint": c.who.cloud[im.FieldHost], "compute": compute, "storage": []any{},
	}}
}

func (s *Server) list(c *call) (answer reply, _ error) {
	filter, err := regexp.Compile(c.URL.Query().Get("filter"))
	if err != nil {
		return reply{}, refuse(http.StatusBadRequest, "Error Getting Inf. List: %v", err)
	}
	uris := []string{}
	err = s.view(c.now, func() error {
		for _, i := range s.all.Items {
			if i.user != c.who.user || i.record && !s.config.ListRecords || s.lags(c, i) {
				continue
			}
			if s.config.NoFilter || filter.MatchString(i.radl) || i.template != nil && filter.MatchString(i.template.text()) {
				uris = append(uris, uri(c.Request, i.id))
			}
		}
		return nil
	})
	return reply{media: uriList, field: "uri-list", value: uris}, err
}

// lags reports whether an infrastructure is so new that lists don't have it.
func (s *Server) lags(c *call, i *infrastructure) bool {
	return c.now.Before(i.created.Add(s.config.Times.Lag.Duration))
}

func (s *Server) update(c *call, i *infrastructure) (reply, error) {
	const what = "Error Adding resources"
	configure, err := flag(c, "context", true)
	if err != nil {
		return reply{}, err
	}
	if err := i.elsewhere(c, what); err != nil {
		return reply{}, err
	}
	t, _, err := deploy(c, what)
	if err != nil {
		return reply{}, err
	}
	counts := map[string]int{radlNode: 1}
	for _, m := range i.machines {
		if m.node == radlNode {
			counts[radlNode]++
		}
	}
	if t != nil {
		if i.template == nil {
			return reply{}, refuse(http.StatusBadRequest, what+": 'TOSCA'")
		}
		t = i.template.merge(t)
		if counts, err = t.machines(); err != nil {
			return reply{}, refusalOf(err, what)
		}
		i.template = t
	}
	i.cloud = cmp.Or(i.cloud, cloudOf(c))
	added := i.resize(c.now, counts, s.config.Times.Launch.Duration)
	if configure {
		s.configure(c, i)
	}
	uris := []string{}
	for _, id := range added {
		uris = append(uris, uri(c.Request, i.id, "vms", strconv.Itoa(id)))
	}
	return reply{media: uriList, field: "uri-list", value: uris, id: i.id}, nil
}

// configure an infrastructure again. IM starts nothing for that: machines that were stopped stay so, whatever becomes of the rest
// (IM/VirtualMachine.py: update_status), and its wait for the one that configures the others fails (IM/ConfManager.py: wait_vm_running).
func (s *Server) configure(c *call, i *infrastructure) {
	i.nextTrouble()
	if i.off() && i.trouble == nil {
		i.trouble = &Outcome{State: im.Unconfigured, Message: "the master VM is not running"}
	}
	i.lackCloud(c)
	i.begin(c.now, s.config.Times.Configure.Duration)
}

func (s *Server) reconfigure(c *call, i *infrastructure) (reply, error) {
	s.configure(c, i)
	return reply{media: textPlain, value: ""}, nil
}

// start machines, and configure nothing (IM/InfrastructureManager.py: StartInfrastructure).
func (s *Server) start(c *call, i *infrastructure) (reply, error) {
	if i.off() {
		i.forced = ""
	}
	i.say(c.now, "Started")
	return reply{media: textPlain, value: ""}, nil
}

func (s *Server) stop(c *call, i *infrastructure) (reply, error) {
	i.forced = im.Stopped
	i.say(c.now, "Stopped")
	return reply{media: textPlain, value: ""}, nil
}

func (s *Server) remove(c *call, i *infrastructure) (reply, error) {
	async, err := flag(c, "async", false)
	if err == nil {
		_, err = flag(c, "force", false)
	}
	if err != nil {
		return reply{}, err
	}
	if err := i.elsewhere(c, "Error Destroying Inf"); err != nil {
		return reply{}, err
	}
	if i.creating(c.now) {
		return reply{}, refuse(http.StatusConflict, "Error Destroying Inf: the infrastructure is still being created")
	}
	i.deleted, i.forgotten = c.now, c.now
	if async {
		i.forgotten = c.now.Add(s.config.Times.Delete.Duration)
	}
	return reply{media: textPlain, value: ""}, nil
}

func (s *Server) removeMachine(c *call, i *infrastructure) (reply, error) {
	at := slices.IndexFunc(i.machines, func(m machine) bool { return strconv.Itoa(m.id) == c.PathValue("vm") })
	if at < 0 {
		return reply{}, refuse(http.StatusNotFound, "Error Removing resources: Invalid VM ID")
	}
	if err := i.elsewhere(c, "Error Removing resources"); err != nil {
		return reply{}, err
	}
	i.machines = slices.Delete(i.machines, at, at+1)
	s.configure(c, i)
	return reply{media: textPlain, value: ""}, nil
}
