package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/simulator"
)

// reads are a list of each service, by its operation.
func (b bench) reads(in client.Workspace, bucket client.Bucket) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"resourcemanager.listResourceGroups":       func(ctx context.Context) error { return errorOf(b.ResourceGroups(ctx, "")) },
		"resourcecontroller.listResourceInstances": func(ctx context.Context) error { return errorOf(b.Instances(ctx, client.PlanCOS, "")) },
		"power.listServers":                        func(ctx context.Context) error { return errorOf(b.Servers(ctx, in)) },
		"vpc.listVPCs":                             func(ctx context.Context) error { return errorOf(b.VPCs(ctx, region)) },
		"transit.listTransitGateways":              func(ctx context.Context) error { return errorOf(b.TransitGateways(ctx)) },
		"cos.headBucket":                           func(ctx context.Context) error { return b.HeadBucket(ctx, bucket) },
	}
}

func TestStatus_meansTheSameForAllServices(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for operation, read := range b.reads(b.newWorkspace(), b.newBucket("demo")) {
			for status, class := range map[int]fault.Class{
				http.StatusUnauthorized: fault.Credentials, http.StatusForbidden: fault.Credentials, http.StatusTooManyRequests: fault.Transient,
				http.StatusInternalServerError: fault.Transient, http.StatusServiceUnavailable: fault.Transient,
			} {
				b.fault(simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: status, Message: "trouble", Times: 3})
				err := read(b.t.Context())
				b.Expect(err).To(beOf(class), "%s %d", operation, status)
				b.Expect(err).To(MatchError(ContainSubstring(fmt.Sprint(status))))
				b.Expect(fault.IsAmbiguous(err)).To(BeFalse())
				if class == fault.Credentials {
					b.Expect(err).To(MatchError(ContainSubstring("correct the API key in secret team/ibm")))
				}
				b.cloud.ClearFaults()
				b.pass(time.Minute) // after a 429 the client waits
			}
		}
	})
}

func TestReads_areRepeatedAfterPassingFaults(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for operation, read := range b.reads(b.newWorkspace(), b.newBucket("demo")) {
			b.fault(simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: http.StatusServiceUnavailable})
			b.fault(simulator.Fault{Operation: operation, Kind: simulator.FaultLoseAnswer})
			b.Expect(read(b.t.Context())).To(Succeed(), operation)
		}
	})
}

func TestTooManyRequests_holdsTheServiceBackForAsLongAsItAsks(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		busy := true
		c := b.connect(func(next http.RoundTripper) http.RoundTripper {
			return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
				if busy && r.URL.Host == region+".vpc.example.com" {
					return reply(429, `{"errors":[{"code":"too_many_requests","message":"slow down"}]}`, "Retry-After", "60"), nil
				}
				return next.RoundTrip(r)
			})
		})
		b.Expect(errorOf(c.VPCs(b.t.Context(), region))).To(beOf(fault.Transient))
		busy = false
		err := errorOf(c.VPCs(b.t.Context(), region))
		b.Expect(err).To(MatchError(ContainSubstring("asked to send no calls for now (429)")))
		b.Expect(c.TransitGateways(b.t.Context())).To(BeEmpty(), "other services may be called")
		b.pass(time.Minute)
		b.Expect(c.VPCs(b.t.Context(), region)).To(BeEmpty())
	})
}

func TestCreates_whoseAnswerIsLostAreAmbiguousAndNotRepeated(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in, bucket := b.t.Context(), b.newWorkspace(), b.newBucket("demo")
		vpc := b.newVPC("demo")
		for operation, create := range map[string]func() error{
			"resourcecontroller.createResourceInstance": func() error {
				return errorOf(b.CreateInstance(ctx, client.InstanceRequest{
					Name: "lost", Plan: client.PlanCOS, Target: client.TargetGlobal, ResourceGroupID: group,
				}))
			},
			"resourcecontroller.createResourceKey": func() error { return errorOf(b.CreateHMACKey(ctx, bucket.InstanceID, "lost")) },
			"power.createDHCPServer": func() error {
				return errorOf(b.CreateDHCPServer(ctx, in, client.DHCPServerRequest{Name: "lost"}))
			},
			"power.importImage": func() error {
				return errorOf(b.ImportImage(ctx, in, client.ImageImport{Name: "lost", Bucket: "b", Region: region, Object: "o.ova"}))
			},
			"vpc.createVPC": func() error { return errorOf(b.CreateVPC(ctx, region, "lost", group)) },
			"vpc.createSubnet": func() error {
				return errorOf(b.CreateSubnet(ctx, region, client.SubnetRequest{
					Name: "lost", VPCID: vpc.ID, Zone: "us-south-1", ResourceGroupID: group,
				}))
			},
			"transit.createTransitGateway": func() error {
				return errorOf(b.CreateTransitGateway(ctx, client.TransitGatewayRequest{Name: "lost", Location: region, ResourceGroupID: group}))
			},
			"cos.createBucket": func() error {
				return b.CreateBucket(ctx, client.Bucket{InstanceID: bucket.InstanceID, Region: region, Name: "lost"})
			},
		} {
			before := b.cloud.Calls()[operation]
			b.fault(simulator.Fault{Operation: operation, Kind: simulator.FaultLoseAnswer})
			err := create()
			b.Expect(err).To(beOf(fault.Transient), operation)
			b.Expect(fault.IsAmbiguous(err)).To(BeTrue(), operation)
			b.Expect(b.cloud.Calls()[operation]).To(Equal(before+1), operation)
		}
		b.Expect(errorOf(b.CreateVPC(ctx, region, "lost", group))).To(beOf(fault.Conflict), "it was made")
		b.Expect(b.HMACKeys(ctx, bucket.InstanceID)).To(ConsistOf(HaveField("Name", "lost")))
		b.Expect(b.LastImport(ctx, in)).To(HaveValue(HaveField("ID", Not(BeEmpty()))))
	})
}

func TestDHCPServer_thatWasMadeInSpiteOfAnErrorIsFoundByItsNetwork(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		b.fault(simulator.Fault{Operation: "power.createDHCPServer", Kind: simulator.FaultStatusAfter, Status: 500, Message: "unable to create"})
		err := errorOf(b.CreateDHCPServer(ctx, in, client.DHCPServerRequest{Name: "demo"}))
		b.Expect(err).To(beOf(fault.Transient))
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.Expect(b.DHCPServers(ctx, in)).To(ConsistOf(HaveField("Network.Name", client.DHCPNetworkName("demo"))))
	})
}

func TestCalls_endInTime(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		hang := simulator.Fault{Kind: simulator.FaultHang, Times: 5}
		hang.Operation = "vpc.listVPCs"
		b.fault(hang)
		began := time.Now()
		b.Expect(errorOf(b.VPCs(b.t.Context(), region))).To(beOf(fault.Transient))
		b.Expect(time.Since(began)).To(BeNumerically("<=", 21*time.Second))

		hang.Operation = "vpc.createVPC"
		b.fault(hang)
		began = time.Now()
		err := errorOf(b.CreateVPC(b.t.Context(), region, "demo", group))
		b.Expect(err).To(beOf(fault.Transient))
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.Expect(time.Since(began)).To(BeNumerically("<=", client.DefaultTimeout+time.Second))

		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		b.Expect(errorOf(b.CreateVPC(ctx, region, "demo", group))).To(beOf(fault.Transient))
		b.Expect(time.Since(began)).To(BeNumerically("<=", 2*time.Second))
	})
}

func TestLateWork_isAmbiguous(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.fault(simulator.Fault{
			Operation: "vpc.createVPC", Kind: simulator.FaultCommitLate,
			Hold: metav1.Duration{Duration: time.Second}, Delay: metav1.Duration{Duration: time.Minute},
		})
		err := errorOf(b.CreateVPC(b.t.Context(), region, "late", group))
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.Expect(b.VPCs(b.t.Context(), region)).To(BeEmpty())
		b.pass(2 * time.Minute)
		b.Expect(b.VPCs(b.t.Context(), region)).To(HaveLen(1))
	})
}

func TestNotFound_isNeverBelievedOfAServiceThatKnowsNothing(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		for name, row := range map[string]struct {
			page string
			// works is a host that works in spite of all.
			works string
		}{
			"in its own words":      {`{"errors":[{"code":"not_found","message":"no such path"}],"description":"no such path"}`, "rc.example.com"},
			"all of them":           {`{"errors":[{"code":"not_found","message":"no such path"}],"description":"no such path"}`, ""},
			"a proxy in all places": {"<html>nothing here</html>", ""},
		} {
			c := b.connect(func(next http.RoundTripper) http.RoundTripper {
				return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
					if r.URL.Host == "iam.example.com" || r.URL.Host == row.works {
						return next.RoundTrip(r)
					}
					return reply(404, row.page), nil
				})
			})
			bucket := client.Bucket{InstanceID: nothing, Region: region, Name: "demo"}
			for i, err := range []error{
				errorOf(c.ResourceGroup(ctx, group)), errorOf(c.ResourceGroups(ctx, "")), errorOf(c.Server(ctx, in, nothing)),
				c.DeleteServer(ctx, in, nothing),
				errorOf(c.Servers(ctx, in)), errorOf(c.VPC(ctx, region, nothing)), c.DeleteVPC(ctx, region, nothing), errorOf(c.VPCs(ctx, region)),
				errorOf(c.CreateVPC(ctx, region, "demo", group)), errorOf(c.Member(ctx, region, nothing, nothing, nothing)),
				c.DeleteMember(ctx, region, nothing, nothing, nothing), errorOf(c.Members(ctx, region, nothing, nothing)),
				errorOf(c.TransitGateway(ctx, nothing)), c.DeleteConnection(ctx, nothing, nothing), errorOf(c.Connections(ctx, nothing)),
			} {
				b.Expect(err).To(beOf(fault.Transient), "%s %d", name, i)
			}
			if row.works == "" {
				b.Expect(c.HeadBucket(ctx, bucket)).To(beOf(fault.Transient), name)
				b.Expect(errorOf(c.Instance(ctx, nothing))).To(beOf(fault.Transient), name)
			}
		}
	})
}

// reply is an answer, with headers in pairs.
func reply(status int, body string, headers ...string) *http.Response {
	recorder := httptest.NewRecorder()
	for i := 0; i < len(headers); i += 2 {
		recorder.Header().Set(headers[i], headers[i+1])
	}
	httpclienttest.Reply(status, body)(recorder, nil)
	return recorder.Result()
}

func TestSilent_isAboutOneServiceInOneRegion(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		limits := client.Config{}
		client.Paced(time.Minute, 0, 0, egress.Policy{}, nil)(&limits)
		c := b.connect(nil, func(config *client.Config) { config.Circuits = limits.Circuits })
		b.fault(simulator.Fault{Operation: "vpc.listVPCs", Kind: simulator.FaultHang, Times: 1000})
		for i := 0; c.Silent(client.ServiceVPC, region) == nil; i++ {
			b.Expect(i).To(BeNumerically("<", 20))
			b.Expect(errorOf(c.VPCs(b.t.Context(), region))).To(beOf(fault.Transient))
		}
		for _, err := range []error{
			c.Silent(client.ServiceVPC, "eu-de"), c.Silent(client.ServiceTransitGateway, ""), c.Silent(client.ServicePowerVS, "dal"),
		} {
			b.Expect(err).NotTo(HaveOccurred())
		}
	})
}

func TestCreates_areWaitedForByNoWorker(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		limits := client.Config{}
		client.Paced(time.Minute, 0, 0, egress.Policy{}, nil)(&limits)
		c := b.connect(nil, func(config *client.Config) { config.Circuits = limits.Circuits })
		b.fault(simulator.Fault{Operation: "vpc.createVPC", Kind: simulator.FaultHang, Times: 100})
		ctx, cancel := context.WithCancel(b.t.Context())
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() { _, _ = c.CreateVPC(ctx, region, fmt.Sprintf("net-%d", i), group) })
			b.pass(time.Second)
		}
		b.Expect(b.cloud.Calls()).To(HaveKeyWithValue("vpc.createVPC", 30), "those that hang keep none from being sent")
		cancel()
		all.Wait()
	})
}
