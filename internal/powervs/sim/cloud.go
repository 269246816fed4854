// Package sim simulates an account of IBM Cloud, as far as clusters on Power use it: IAM, Resource Manager, Resource Controller,
// PowerVS, VPC, Transit Gateway and Object Storage. It is stateful and strict, with the delays and errors of the real services, and
// knows nothing about Kubernetes. Each service is an http.Handler of its own, at the paths of the real one. The simulator's own
// endpoints are described in admin.go.
package sim

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/simulator"
)

// Cloud is the simulated account with its services.
type Cloud struct {
	*simulator.Service

	config Config
	admin  *simulator.Admin
	all    http.Handler
	tokens simulator.Tokens[string]

	iam, manager *service
	controller   *resourceController
	power        *power
	vpc          vpcState
	transit      *transitGateways
	cos          *objectStorage
	// operations has the names of all, in lower case.
	operations map[string]bool

	// mu protects all that exists. What an object's status is follows from the clock, so nothing has to be driven.
	mu       sync.Mutex
	stores   []anyStore
	outcomes []Outcome
}

// New returns a simulator of the account that config describes.
func New(config Config, log *slog.Logger) (*Cloud, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure simulator: %w", err)
	}
	c := &Cloud{Service: simulator.New(config.Speed, log), config: config, operations: map[string]bool{}}
	c.Known = c.knowOperations
	c.iam, c.manager, c.controller, c.power = c.newIAM(), c.newResourceManager(), c.newResourceController(), c.newPower()
	c.vpc, c.transit, c.cos = c.newVPC(), c.newTransitGateways(), c.newObjectStorage()
	c.admin = c.adminHandler()
	c.all = c.atOneAddress()
	c.makeInstances()
	log.Info("IBM Cloud simulator ready", "account", config.Account, "speed", config.Speed)
	return c, nil
}

// makeInstances makes what is there from the beginning.
func (c *Cloud) makeInstances() {
	now := c.Now()
	for _, i := range c.config.Instances {
		made := c.controller.newInstance(worldObject(now, i.ID, i.Name, ""), plans[i.Plan], i.Target, c.config.ResourceGroups[0].ID)
		c.controller.instances.Add(made)
		c.power.makeContent(made, i, now)
	}
}

// IAM issues tokens.
func (c *Cloud) IAM() http.Handler { return c.iam }

// knowOperations checks that operations exist.
func (c *Cloud) knowOperations(operations ...string) error {
	i := slices.IndexFunc(operations, func(o string) bool { return !c.operations[strings.ToLower(o)] })
	if i >= 0 {
		return fmt.Errorf("unknown operation %q", operations[i])
	}
	return nil
}

// view runs read under the lock, on a state from which everything that is gone has been dropped.
func (c *Cloud) view(read func(now time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	for _, s := range c.stores {
		s.Forget(now)
	}
	read(now)
}

// change is like view, for something that may be refused.
func (c *Cloud) change(write func(now time.Time) error) error {
	var err error
	c.view(func(now time.Time) { err = write(now) })
	return err
}

// crn is the name of something in the account. A service without instances has an empty instance, an instance itself has no sort and
// no ID.
func (c *Cloud) crn(service, location, instance, sort, id string) string {
	return strings.Join([]string{"crn:v1:bluemix:public", service, location, "a/" + c.config.Account, instance, sort, id}, ":")
}
