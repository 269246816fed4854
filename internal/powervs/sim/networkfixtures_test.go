package sim_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/IBM/go-sdk-core/v5/core"
	"github.com/IBM/ibm-cos-sdk-go/aws"
	"github.com/IBM/ibm-cos-sdk-go/aws/awserr"
	"github.com/IBM/ibm-cos-sdk-go/aws/credentials"
	"github.com/IBM/ibm-cos-sdk-go/aws/credentials/ibmiam"
	"github.com/IBM/ibm-cos-sdk-go/aws/session"
	"github.com/IBM/ibm-cos-sdk-go/service/s3"
	"github.com/IBM/networking-go-sdk/transitgatewayapisv1"
	rc "github.com/IBM/platform-services-go-sdk/resourcecontrollerv2"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

const (
	region      = "us-south"
	otherRegion = "eu-de"
	zone        = region + "-1"

	vpcHost      = "vpc.example.com"
	otherVPCHost = "other-vpc.example.com"
	transitHost  = "transit.example.com"
	cosHost      = "cos.example.com"
)

// networks is a bench with IBM's clients of the services that connect.
type networks struct {
	bench
	vpc, otherVPC *vpcv1.VpcV1
	transit       *transitgatewayapisv1.TransitGatewayApisV1
}

// hosts are the services by their hosts.
func hosts(cloud *sim.Cloud) map[string]http.Handler {
	return map[string]http.Handler{
		iamHost: cloud.IAM(), managerHost: cloud.ResourceManager(), controllerHost: cloud.ResourceController(), powerHost: cloud.Power(),
		vpcHost: cloud.VPC(region), otherVPCHost: cloud.VPC(otherRegion), transitHost: cloud.TransitGateway(), cosHost: cloud.ObjectStorage(),
		adminHost: cloud.Admin(),
	}
}

// inSimulatedNetworks runs a test against the default world. Waiting takes no time.
func inSimulatedNetworks(t *testing.T, test func(n networks), changes ...func(*sim.Config)) {
	t.Helper()
	inSimulatedTime(t, func(b bench) { test(newNetworks(b)) }, changes...)
}

// newNetworks makes clients that don't repeat anything.
func newNetworks(b bench) networks {
	n := networks{bench: b}
	newVPC := func(host string) *vpcv1.VpcV1 {
		vpc, err := vpcv1.NewVpcV1(&vpcv1.VpcV1Options{
			URL: b.endpoint(host) + "/v1", Authenticator: b.login, Version: ptr.To("2025-12-09")})
		b.Expect(err).NotTo(HaveOccurred())
		vpc.Service.SetHTTPClient(b.http)
		return vpc
	}
	n.vpc, n.otherVPC = newVPC(vpcHost), newVPC(otherVPCHost)
	var err error
	n.transit, err = transitgatewayapisv1.NewTransitGatewayApisV1(&transitgatewayapisv1.TransitGatewayApisV1Options{
		URL: b.endpoint(transitHost) + "/v1", Authenticator: b.login, Version: ptr.To("2025-12-09")})
	b.Expect(err).NotTo(HaveOccurred())
	n.transit.Service.SetHTTPClient(b.http)
	return n
}

// storage is a client of Object Storage that logs in with the API key.
func (n networks) storage(instance string) *s3.S3 {
	config := aws.NewConfig().WithHTTPClient(n.http)
	return n.storageWith(ibmiam.NewStaticCredentials(config, n.endpoint(iamHost)+"/identity/token", sim.DefaultAPIKey, instance))
}

// signing is one that signs with an HMAC key.
func (n networks) signing(accessKey, secretKey string) *s3.S3 {
	return n.storageWith(credentials.NewStaticCredentials(accessKey, secretKey, ""))
}

func (n networks) storageWith(login *credentials.Credentials) *s3.S3 {
	made, err := session.NewSession(aws.NewConfig().WithEndpoint(n.endpoint(cosHost)).WithRegion(region).WithS3ForcePathStyle(true).
		WithMaxRetries(0).WithCredentials(login))
	n.Expect(err).NotTo(HaveOccurred())
	return s3.New(made, aws.NewConfig().WithHTTPClient(n.http)) // by the session it would be refused where AWS_CA_BUNDLE is set
}

// answered is the status of an answer, and the code of its error.
func answered(response *core.DetailedResponse, err error) string {
	if err == nil {
		return fmt.Sprint(response.StatusCode)
	}
	if response == nil {
		return err.Error()
	}
	body, _ := response.GetResultAsMap()
	list, _ := body["errors"].([]any)
	if len(list) == 0 {
		return fmt.Sprint(response.StatusCode)
	}
	first, _ := list[0].(map[string]any)
	return fmt.Sprintf("%d %v", response.StatusCode, first["code"])
}

// storageError is the same for Object Storage.
func storageError(err error) string {
	if err == nil {
		return ""
	}
	if failed, ok := errors.AsType[awserr.RequestFailure](err); ok {
		return fmt.Sprintf("%d %s", failed.StatusCode(), failed.Code())
	}
	return err.Error()
}

// call sends a request with a token, and returns the status and the body of the answer.
func (n networks) call(method, host, path, body string) (int, string) {
	token, err := n.login.GetToken()
	n.Expect(err).NotTo(HaveOccurred())
	return n.callAs(token, method, host, path, body)
}

func (n networks) callAs(token, method, host, path, body string) (int, string) {
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	hosts(n.cloud)[host].ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const vpcQuery = "?version=2025-12-09&generation=2"

// refusal is a request and how the real service refuses it.
type refusal struct {
	method, path, body string
	status             int
	code               string
}

// expectRefusals sends requests to a service that refuses them.
func (n networks) expectRefusals(host, query string, rows map[string]refusal) {
	n.t.Helper()
	for name, row := range rows {
		status, body := n.call(row.method, host, row.path+query, row.body)
		n.Expect(status).To(Equal(row.status), "%s: %s", name, body)
		n.Expect(body).To(ContainSubstring(`"code":"`+row.code+`"`), name)
	}
}

func group() vpcv1.ResourceGroupIdentityIntf {
	return &vpcv1.ResourceGroupIdentity{ID: ptr.To(sim.DefaultResourceGroupID)}
}

// newVPC makes one that is available.
func (n networks) newVPC(name string) *vpcv1.VPC {
	n.t.Helper()
	made, response, err := n.vpc.CreateVPCWithContext(n.t.Context(), &vpcv1.CreateVPCOptions{Name: &name, ResourceGroup: group()})
	n.Expect(answered(response, err)).To(Equal("201"))
	n.pass(5 * time.Second)
	return made
}

// newSubnet makes one that is available.
func (n networks) newSubnet(vpc *vpcv1.VPC, name, zone string) *vpcv1.Subnet {
	n.t.Helper()
	made, response, err := n.vpc.CreateSubnetWithContext(n.t.Context(), &vpcv1.CreateSubnetOptions{
		SubnetPrototype: &vpcv1.SubnetPrototypeSubnetByTotalCount{
			Name: &name, VPC: &vpcv1.VPCIdentityByID{ID: vpc.ID}, Zone: &vpcv1.ZoneIdentityByName{Name: &zone},
			TotalIpv4AddressCount: ptr.To[int64](256), ResourceGroup: group(),
		}})
	n.Expect(answered(response, err)).To(Equal("201"))
	n.pass(5 * time.Second)
	return made
}

// newInstance makes an instance with a plan, that is active.
func (n networks) newInstance(name, target, plan string) *rc.ResourceInstance {
	n.t.Helper()
	made := n.createInstance(name, target, plan)
	n.pass(20 * time.Second)
	return made
}
