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
	"strings"
	"sync"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	config  Config
	account credentials.Account
	// controller is that of Resource Controller, whose login all others share.
	controller *httpclient.Client

	mu sync.Mutex
	// accountID is the account of the token, once there was one.
	accountID string
	// services are made when they are needed.
	services map[place]*httpclient.Client
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
	c := &Client{config: config, account: config.account(), services: map[place]*httpclient.Client{}}
	frame, err := config.frame(ServiceResourceController, "")
	if err != nil {
		return nil, err
	}
	frame.Login = c.login()
	if c.controller, err = httpclient.New(frame); err != nil {
		return nil, err
	}
	for _, service := range []Service{ServiceResourceManager, ServiceTransitGateway} {
		if _, err := c.at(service, ""); err != nil {
			return nil, err
		}
	}
	for _, service := range []Service{ServicePowerVS, ServiceVPC, ServiceCOS} { // so that a bad endpoint is found at once
		if _, err := c.make(place{service, "region"}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// at is the client of a service in a region.
func (c *Client) at(service Service, region string) (*httpclient.Client, error) {
	if service == ServiceResourceController {
		return c.controller, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := place{service, region}
	if api, ok := c.services[at]; ok {
		return api, nil
	}
	api, err := c.make(at)
	if err != nil {
		return nil, err
	}
	if len(c.services) >= maxServices {
		c.drop()
	}
	c.services[at] = api
	return api, nil
}

func (c *Client) make(at place) (*httpclient.Client, error) {
	frame, err := c.config.frame(at.service, at.region)
	if err != nil {
		return nil, err
	}
	frame.LoginOf = c.controller
	return httpclient.New(frame)
}

// drop the services: those that are needed are made again. Calls in progress go on.
func (c *Client) drop() {
	for _, api := range c.services {
		api.CloseIdleConnections()
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
// the service: PowerVSRegion, that of VPC, or that of a bucket; of no meaning for the other services.
func (c *Client) Endpoint(service Service, region string) string {
	api, err := c.at(service, c.regionOf(service, region))
	if err != nil {
		return ""
	}
	return api.Endpoint()
}

// Silent is the error if the circuits know that a service doesn't answer, so that callers shouldn't wait for it now; otherwise nil. The
// region is as in Endpoint.
func (c *Client) Silent(service Service, region string) error {
	api, err := c.at(service, c.regionOf(service, region))
	if err != nil {
		return err
	}
	return api.Silent()
}

// regionOf a service: none where there is one API for all.
func (c *Client) regionOf(service Service, region string) string {
	if !service.regional() {
		return ""
	}
	return strings.TrimSpace(region)
}

// CloseIdleConnections is for the end of the client.
func (c *Client) CloseIdleConnections() {
	c.controller.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

// AccountID is the ID of the account that the API key belongs to.
func (c *Client) AccountID(ctx context.Context) (string, error) {
	return "", errSurface
}
