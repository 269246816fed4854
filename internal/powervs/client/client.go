// Package client calls the services of IBM Cloud by IBM's SDKs; no other package does. Every error is a *fault.Error.
//
// The SDKs write the requests. Their transport is package httpclient, for each service in each region one; all share the login, which is
// one token of IAM. Answers are decoded here, within bounds: the SDKs accept a list without its list, and another object than the one that
// was asked for.
//
// A 404 counts as fault.NotFound only if it is proven: the service says so twice, and knows what the object is in. What a workspace, a
// gateway or a load balancer contains is gone with that. An API key of another account sees nothing of this one: see Client.AccountID.
package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bedplate/bedplate/internal/credentials"
)

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	config  Config
	account credentials.Account
	// controller is Resource Controller, whose login all others share.
	controller *api

	mu sync.Mutex
	// accountID is the account of the token, once there was one.
	accountID string
	// services are made when they are needed.
	services map[place]*api
}

// place is a service in a region, which is empty where there is one for all.
type place struct {
	service Service
	region  string
}

// maxServices bounds how many are kept: users choose the regions.
const maxServices = 64

// New validates the configuration and returns a client. It makes no call. Its errors don't contain a secret.
func New(config Config) (*Client, error) {
	c, err := build(config)
	if err != nil {
		return nil, fmt.Errorf("configure client of IBM Cloud: %w", err)
	}
	return c, nil
}

func build(config Config) (*Client, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Client{config: config, account: config.account(), services: map[place]*api{}}
	at := place{service: ServiceResourceController}
	frame, err := config.frame(at)
	if err != nil {
		return nil, err
	}
	frame.Login = c.login()
	if c.controller, err = newAPI(at, frame); err != nil {
		return nil, err
	}
	for _, service := range slices.Sorted(maps.Keys(known)) { // so that a bad endpoint is found at once
		at := place{service: service}
		if service.regional() {
			at.region = "region"
		}
		if _, err := c.make(at); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// at is a service in a region.
func (c *Client) at(at place) (*api, error) {
	if at.service == ServiceResourceController {
		return c.controller, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.services[at]; ok {
		return known, nil
	}
	made, err := c.make(at)
	if err != nil {
		return nil, err
	}
	if len(c.services) >= maxServices {
		c.drop()
	}
	c.services[at] = made
	return made, nil
}

func (c *Client) make(at place) (*api, error) {
	frame, err := c.config.frame(at)
	if err != nil {
		return nil, err
	}
	frame.LoginOf = c.controller.Client
	return newAPI(at, frame)
}

// drop the services: those that are needed are made again. Calls in progress go on.
func (c *Client) drop() {
	for _, service := range c.services {
		service.CloseIdleConnections()
	}
	clear(c.services)
}

// String names the login's Secret and not the login.
func (c *Client) String() string { return c.config.String() }

// Account of the client. It changes when the login does.
func (c *Client) Account() credentials.Account { return c.account }

// Secret is the namespace/name of the Secret that the login is from. Empty if there is none.
func (c *Client) Secret() string { return c.config.Secret }

// Namespace is that of the Secret: limits are per namespace. Empty if there is none.
func (c *Client) Namespace() string { return c.controller.Namespace() }

// Endpoint is the server of a service in canonical form, the same for all accounts; empty where there can't be one. The region is that of
// the service: PowerVSRegion, that of VPC, or that of a bucket; of no meaning for services that have one API for all.
func (c *Client) Endpoint(service Service, region string) string {
	to, err := c.at(placeOf(service, region))
	if err != nil {
		return ""
	}
	return to.Endpoint()
}

// Silent is the error if the circuits know that a service doesn't answer, so that callers shouldn't wait for it now; otherwise nil. The
// region is as in Endpoint.
func (c *Client) Silent(service Service, region string) error {
	to, err := c.at(placeOf(service, region))
	if err != nil {
		return err
	}
	return to.Silent()
}

func placeOf(service Service, region string) place {
	if !service.regional() {
		region = ""
	}
	return place{service, region}
}

// CloseIdleConnections is for the end of the client.
func (c *Client) CloseIdleConnections() {
	c.controller.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

// AccountID is the ID of the account that the API key belongs to. It is known once the client has logged in, which the call does.
func (c *Client) AccountID(ctx context.Context) (string, error) {
	if id := c.knownAccount(); id != "" {
		return id, nil
	}
	if err := c.controller.LogIn(ctx); err != nil {
		return "", err
	}
	return c.knownAccount(), nil
}

func (c *Client) knownAccount() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accountID
}
