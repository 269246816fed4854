package client

import (
	"cmp"
	"context"

	"github.com/IBM/go-sdk-core/v5/core"
	"github.com/IBM/ibm-cos-sdk-go/service/s3"
	"github.com/IBM/networking-go-sdk/transitgatewayapisv1"
	"github.com/IBM/platform-services-go-sdk/resourcecontrollerv2"
	"github.com/IBM/platform-services-go-sdk/resourcemanagerv2"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	"github.com/go-openapi/runtime"
	httptransport "github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/httpclient"
)

// api is a service in a region, by its SDK: that of PowerVS is a transport, of which each part of the SDK is made.
type api struct {
	*httpclient.Client

	manager    *resourcemanagerv2.ResourceManagerV2
	controller *resourcecontrollerv2.ResourceControllerV2
	power      *httptransport.Runtime
	vpc        *vpcv1.VpcV1
	transit    *transitgatewayapisv1.TransitGatewayApisV1
	cos        *s3.S3
}

// version is the date of the APIs of VPC and Transit Gateway whose answers are decoded here.
const version = "2025-12-09"

// newAPI makes what calls a service; IAM is called by the login only. No SDK logs in, or repeats anything: the transport does.
func newAPI(at place, frame httpclient.Config) (*api, error) {
	to, err := httpclient.New(frame)
	if err != nil {
		return nil, err
	}
	a := &api{Client: to}
	login, url, date := &core.NoAuthAuthenticator{}, to.Base().String(), ptr.To(version)
	switch at.service {
	case ServiceResourceManager:
		a.manager, err = resourcemanagerv2.NewResourceManagerV2(&resourcemanagerv2.ResourceManagerV2Options{URL: url, Authenticator: login})
		return set(a, err, func() *core.BaseService { return a.manager.Service })
	case ServiceResourceController:
		a.controller, err = resourcecontrollerv2.NewResourceControllerV2(
			&resourcecontrollerv2.ResourceControllerV2Options{URL: url, Authenticator: login})
		return set(a, err, func() *core.BaseService { return a.controller.Service })
	case ServiceVPC:
		a.vpc, err = vpcv1.NewVpcV1(&vpcv1.VpcV1Options{URL: url, Authenticator: login, Version: date})
		return set(a, err, func() *core.BaseService { return a.vpc.Service })
	case ServiceTransitGateway:
		a.transit, err = transitgatewayapisv1.NewTransitGatewayApisV1(
			&transitgatewayapisv1.TransitGatewayApisV1Options{URL: url, Authenticator: login, Version: date})
		return set(a, err, func() *core.BaseService { return a.transit.Service })
	case ServiceCOS:
		a.cos = newS3(url, at.region, to.HTTP())
	case ServicePowerVS:
		base := to.Base()
		a.power = httptransport.NewWithClient(base.Host, cmp.Or(base.Path, "/"), []string{base.Scheme}, to.HTTP())
		a.power.Debug = false // whatever the environment says: requests contain secrets
	}
	return a, nil
}

// set the transport of an SDK.
func set(a *api, err error, service func() *core.BaseService) (*api, error) {
	if err != nil {
		return nil, err
	}
	service().Client = a.HTTP()
	return a, nil
}

// in says of a call of PowerVS which workspace it is about. The login is that of the transport.
func (c *Client) in(ctx context.Context, w Workspace) (runtime.ClientAuthInfoWriter, error) {
	account, err := c.AccountID(ctx)
	if err != nil {
		return nil, err
	}
	crn := WorkspaceCRN(account, w)
	return runtime.ClientAuthInfoWriterFunc(func(r runtime.ClientRequest, _ strfmt.Registry) error {
		return r.SetHeaderParam("CRN", crn)
	}), nil
}

// WorkspaceCRN is the name of a workspace of an account.
func WorkspaceCRN(account string, w Workspace) string {
	return "crn:v1:bluemix:public:power-iaas:" + w.Zone + ":a/" + account + ":" + w.ID + "::"
}

// drained is the answer of an SDK, of which only the error counts: the transport has read it.
func drained[A any](_ A, err error) error { return err }

// drained2 is the same for SDKs that also return the response.
func drained2[A any](_ A, _ *core.DetailedResponse, err error) error { return err }

// statusOf is for calls without an answer.
func statusOf(_ *core.DetailedResponse, err error) error { return err }
