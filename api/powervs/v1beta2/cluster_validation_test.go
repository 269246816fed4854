package v1beta2_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/testenv"
)

var no = false

func byID(id string) *IBMPowerVSResourceReference { return &IBMPowerVSResourceReference{ID: id} }
func byName(name string) *IBMPowerVSResourceReference {
	return &IBMPowerVSResourceReference{Name: name}
}

// validCluster names everything.
func validCluster() *IBMPowerVSCluster {
	return &IBMPowerVSCluster{Spec: IBMPowerVSClusterSpec{
		ServiceInstance: byName("workspace"), Zone: "dal10", ResourceGroup: byName("default"), Network: byName("nodes"),
		DHCPServer: &DHCPServer{Cidr: "192.168.152.0/24", Name: "nodes"},
		VPC:        &VPCResourceReference{Name: "vpc", Region: "us-south"},
		VPCSubnets: []Subnet{{Name: "a", Zone: "us-south-1"}, {Name: "b", Ipv4CidrBlock: "10.240.0.0/24"}, {ID: "0717-x"}},
		VPCSecurityGroups: []VPCSecurityGroup{{ID: "r006-x"}, {Name: "web", Rules: []VPCSecurityGroupRule{{
			Action: SecurityGroupAllow, Direction: SecurityGroupInbound,
			Source: &VPCSecurityGroupRulePrototype{
				Protocol: SecurityGroupProtocolTCP, PortRange: &VPCSecurityGroupPortRange{MinimumPort: 80, MaximumPort: 81},
				Remotes: []VPCSecurityGroupRuleRemote{
					{RemoteType: SecurityGroupRemoteAny}, {RemoteType: SecurityGroupRemoteCIDR, CIDRSubnetName: "a"},
					{RemoteType: SecurityGroupRemoteAddress, Address: "10.0.0.1"}, {RemoteType: SecurityGroupRemoteGroup, SecurityGroupName: "web"},
				},
			},
		}}}},
		TransitGateway: &TransitGateway{Name: "Gateway_1"},
		LoadBalancers: []VPCLoadBalancerSpec{{Name: "outside", SecurityGroups: []VPCResource{{Name: "web"}}, Subnets: []VPCResource{{ID: "0717-x"}},
			BackendPools: []VPCLoadBalancerBackendPoolSpec{{Name: "ssh", Algorithm: LoadBalancerRoundRobin, Protocol: LoadBalancerProtocolTCP,
				HealthMonitor: VPCLoadBalancerHealthMonitorSpec{Delay: 5, Retries: 2, Timeout: 2, Type: LoadBalancerHealthTCP}}},
			AdditionalListeners: []AdditionalListenerSpec{{Port: 22, DefaultPoolName: "ssh",
				Selector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "bastion"}}}},
		}, {Name: "inside", Public: &no}},
		CosInstance: &CosInstance{Name: "cos", BucketName: "bucket", BucketRegion: "us-south"},
		Ignition:    &Ignition{Version: "3.4"},
	}}
}

func rule(c *IBMPowerVSCluster) *VPCSecurityGroupRule {
	return &c.Spec.VPCSecurityGroups[1].Rules[0]
}

func TestCluster_itsReferencesAreChecked(t *testing.T) {
	t.Parallel()
	const one = "at most one of id, name and regex may be set: keep one of them"
	checkCreate(t, validCluster, []refusal[*IBMPowerVSCluster]{
		{"everything named", func(*IBMPowerVSCluster) {}, ""},
		{"nothing", func(c *IBMPowerVSCluster) { c.Spec = IBMPowerVSClusterSpec{} }, ""},
		{"a Secret", func(c *IBMPowerVSCluster) {
			c.Spec.Authentication = &Authentication{SecretRef: SecretReference{Name: "ibm"}}
		}, ""},
		{"a Secret without a name", func(c *IBMPowerVSCluster) { c.Spec.Authentication = &Authentication{} }, "spec.authentication.secretRef: Required value"},
		{"a workspace by ID", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance = byID("w") }, ""},
		{"a workspace by ID and name", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance.ID = "w" }, "spec.serviceInstance: Invalid value: " + one},
		{"a network by name and regex", func(c *IBMPowerVSCluster) { c.Spec.Network.RegEx = "^n" }, "spec.network: Invalid value: " + one},
		{"a network by regex only", func(c *IBMPowerVSCluster) { c.Spec.Network = &IBMPowerVSResourceReference{RegEx: "^n"} }, ""},
		{"a resource group by ID and name", func(c *IBMPowerVSCluster) { c.Spec.ResourceGroup.ID = "r" }, "spec.resourceGroup: Invalid value: " + one},
		{"a VPC by ID and name", func(c *IBMPowerVSCluster) { c.Spec.VPC.ID = "r006-x" }, "spec.vpc: Invalid value: at most one of id and name may be set"},
		{"a gateway by ID and name", func(c *IBMPowerVSCluster) { c.Spec.TransitGateway.ID = "t" },
			"spec.transitGateway: Invalid value: at most one of id and name may be set"},
		{"a subnet by ID and name", func(c *IBMPowerVSCluster) { c.Spec.VPCSubnets[0].ID = "s" },
			"spec.vpcSubnets[0]: Invalid value: at most one of id and name may be set"},
		{"a balancer by ID and name", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[0].ID = "s" },
			"spec.loadBalancers[0]: Invalid value: at most one of id and name may be set"},
		{"a DHCP server by ID and name", func(c *IBMPowerVSCluster) { c.Spec.DHCPServer.ID = "d" },
			"spec.dhcpServer: Invalid value: at most one of id and name may be set: keep id for a DHCP server of your own"},
		{"a security group by ID and name", func(c *IBMPowerVSCluster) { c.Spec.VPCSecurityGroups[1].ID = "g" },
			"spec.vpcSecurityGroups[1]: Invalid value: exactly one of id and name must be set"},
		{"a security group without either", func(c *IBMPowerVSCluster) { c.Spec.VPCSecurityGroups[1].Name = "" },
			"spec.vpcSecurityGroups[1]: Invalid value: exactly one of id and name must be set"},
		{"a balancer's subnet without either", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[0].Subnets = []VPCResource{{}} },
			"spec.loadBalancers[0].subnets[0]: Invalid value: exactly one of id and name must be set"},
		{"the old field alone", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance, c.Spec.ServiceInstanceID = nil, "w" }, ""},
		{"the old field and the same", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance, c.Spec.ServiceInstanceID = byID("w"), "w" }, ""},
		{"the old field and another", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance, c.Spec.ServiceInstanceID = byID("v"), "w" },
			"spec.serviceInstanceID: Invalid value: … name different workspaces: remove serviceInstanceID"},
		{"the old field and a name", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstanceID = "w" }, "spec.serviceInstanceID: Invalid value"},
	})
}

func TestCluster_itsNamesAreThoseOfIBMCloud(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	checkCreate(t, validCluster, []refusal[*IBMPowerVSCluster]{
		{"an empty name is none", func(c *IBMPowerVSCluster) { c.Spec.VPC.Name = "" }, ""},
		{"a VPC in capitals", func(c *IBMPowerVSCluster) { c.Spec.VPC.Name = "VPC" }, "spec.vpc.name: Invalid value"},
		{"a VPC with 64 characters", func(c *IBMPowerVSCluster) { c.Spec.VPC.Name = long }, "spec.vpc.name: Too long"},
		{"a VPC's ID with a slash", func(c *IBMPowerVSCluster) { c.Spec.VPC.Name, c.Spec.VPC.ID = "", "r006/x" }, "spec.vpc.id: Invalid value"},
		{"a subnet that ends in a dash", func(c *IBMPowerVSCluster) { c.Spec.VPCSubnets[0].Name = "a-" }, "spec.vpcSubnets[0].name: Invalid value"},
		{"a balancer that begins with a digit", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[0].Name = "1a" }, "spec.loadBalancers[0].name: Invalid value"},
		{"a gateway with a dot", func(c *IBMPowerVSCluster) { c.Spec.TransitGateway.Name = "a.b" }, "spec.transitGateway.name: Invalid value"},
		{"a DHCP server with an underscore", func(c *IBMPowerVSCluster) { c.Spec.DHCPServer.Name = "a_b" }, "spec.dhcpServer.name: Invalid value"},
		{"a DHCP server in capitals", func(c *IBMPowerVSCluster) { c.Spec.DHCPServer.Name = "A-1" }, ""},
		{"a zone in capitals", func(c *IBMPowerVSCluster) { c.Spec.Zone = "DAL10" }, "spec.zone: Invalid value"},
		{"a workspace with 256 characters", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance.Name = strings.Repeat("a", 256) }, "spec.serviceInstance.name: Too long"},
		{"a COS instance with 2 characters", func(c *IBMPowerVSCluster) { c.Spec.CosInstance.Name = "ab" }, "spec.cosInstance.name: … should be at least 3"},
		{"a COS instance with 64 characters", func(c *IBMPowerVSCluster) { c.Spec.CosInstance.Name = long }, "spec.cosInstance.name: Too long"},
		{"a COS instance in capitals", func(c *IBMPowerVSCluster) { c.Spec.CosInstance.Name = "COS" }, "spec.cosInstance.name: Invalid value"},
		{"a COS instance with a dot", func(c *IBMPowerVSCluster) { c.Spec.CosInstance.Name = "a.b" }, ""},
		{"a bucket that ends in a dot", func(c *IBMPowerVSCluster) { c.Spec.CosInstance.BucketName = "bucket." }, "spec.cosInstance.bucketName: Invalid value"},
		{"another Ignition", func(c *IBMPowerVSCluster) { c.Spec.Ignition.Version = "2.2" }, `spec.ignition.version: Unsupported value: "2.2"`},
	})
}

func TestCluster_itsNetworksAreChecked(t *testing.T) {
	t.Parallel()
	checkCreate(t, validCluster, []refusal[*IBMPowerVSCluster]{
		{"no range", func(c *IBMPowerVSCluster) { c.Spec.DHCPServer.Cidr = "192.168.152.0" },
			"spec.dhcpServer.cidr: Invalid value: … cidr must be an IPv4 range such as 192.168.152.0/24"},
		{"a range of IPv6", func(c *IBMPowerVSCluster) { c.Spec.VPCSubnets[1].Ipv4CidrBlock = "fd00::/64" },
			"spec.vpcSubnets[1].cidr: Invalid value: … cidr must be an IPv4 range such as 10.240.0.0/24"},
		{"no address", func(c *IBMPowerVSCluster) { c.Spec.DHCPServer.DNSServer = "dns" },
			`spec.dhcpServer.dnsServer: Invalid value: "dns" … must be of type ipv4`},
		{"subnets of one name", func(c *IBMPowerVSCluster) { c.Spec.VPCSubnets[1].Name = "a" },
			"spec.vpcSubnets: Invalid value: names of vpcSubnets must be unique: give one of them another name"},
		{"a subnet twice", func(c *IBMPowerVSCluster) { c.Spec.VPCSubnets[1] = c.Spec.VPCSubnets[2] },
			"spec.vpcSubnets: Invalid value: vpcSubnets names a subnet twice by its id: remove one of them"},
		{"groups of one name", func(c *IBMPowerVSCluster) { c.Spec.VPCSecurityGroups[0] = VPCSecurityGroup{Name: "web"} },
			"spec.vpcSecurityGroups: Invalid value: names of vpcSecurityGroups must be unique"},
		{"a group twice", func(c *IBMPowerVSCluster) { c.Spec.VPCSecurityGroups[1] = c.Spec.VPCSecurityGroups[0] },
			"spec.vpcSecurityGroups: Invalid value: vpcSecurityGroups names a security group twice"},
		{"a rule that denies", func(c *IBMPowerVSCluster) { rule(c).Action = "deny" },
			`spec.vpcSecurityGroups[1].rules[0].action: Unsupported value: "deny": supported values: "allow"`},
		{"inbound to a destination", func(c *IBMPowerVSCluster) { rule(c).Destination, rule(c).Source = rule(c).Source, nil },
			"spec.vpcSecurityGroups[1].rules[0]: Invalid value: a rule for inbound traffic has a source, one for outbound traffic has a destination"},
		{"outbound to a destination", func(c *IBMPowerVSCluster) {
			rule(c).Destination, rule(c).Source, rule(c).Direction = rule(c).Source, nil, SecurityGroupOutbound
		}, ""},
		{"ports of all protocols", func(c *IBMPowerVSCluster) { rule(c).Source.Protocol = SecurityGroupProtocolAll },
			"source.portRange: Invalid value: portRange goes with the protocols tcp and udp only: remove it"},
		{"a type of TCP", func(c *IBMPowerVSCluster) { rule(c).Source.ICMPType = new(int64) },
			"source: Invalid value: icmpCode and icmpType go with protocol icmp only: remove them"},
		{"a type of ICMP", func(c *IBMPowerVSCluster) {
			rule(c).Source.Protocol, rule(c).Source.PortRange, rule(c).Source.ICMPType = SecurityGroupProtocolICMP, nil, new(int64)
		}, ""},
		{"a code without a type", func(c *IBMPowerVSCluster) {
			rule(c).Source.Protocol, rule(c).Source.PortRange, rule(c).Source.ICMPCode = SecurityGroupProtocolICMP, nil, new(int64)
		}, "source.icmpCode: Invalid value: icmpCode goes with icmpType only: set it, too"},
		{"ports the wrong way round", func(c *IBMPowerVSCluster) { rule(c).Source.PortRange.MinimumPort = 100 },
			"source.portRange: Invalid value: maximumPort can't be less than minimumPort"},
		{"no remotes", func(c *IBMPowerVSCluster) { rule(c).Source.Remotes = nil }, "source.remotes: Required value"},
		{"no address of a remote", func(c *IBMPowerVSCluster) { rule(c).Source.Remotes[2].Address = "10.0.0" }, "remotes[2].address: … must be of type ipv4"},
		{"an address of another remote", func(c *IBMPowerVSCluster) { rule(c).Source.Remotes[0].Address = "10.0.0.1" },
			"source.remotes[0].address: Invalid value: address goes with remoteType address, and only with that"},
		{"a remote without its subnet", func(c *IBMPowerVSCluster) { rule(c).Source.Remotes[1].CIDRSubnetName = "" },
			"source.remotes[1].cidrSubnetName: Invalid value: cidrSubnetName goes with remoteType cidr, and only with that"},
		{"a remote without its group", func(c *IBMPowerVSCluster) { rule(c).Source.Remotes[3].SecurityGroupName = "" },
			"source.remotes[3].securityGroupName: Invalid value: securityGroupName goes with remoteType sg, and only with that"},
	})
}

func TestCluster_itsLoadBalancersAreChecked(t *testing.T) {
	t.Parallel()
	const public = "spec.loadBalancers: Invalid value: exactly one load balancer must be public, as each is whose public is omitted: " +
		"set public to false for all others"
	checkCreate(t, validCluster, []refusal[*IBMPowerVSCluster]{
		{"none", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers = nil }, ""},
		{"an empty list", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers = []VPCLoadBalancerSpec{} }, ""},
		{"two public ones", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[1].Public = nil }, public},
		{"no public one", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers = c.Spec.LoadBalancers[1:] }, public},
		{"two of one name", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[1].Name = "outside" },
			"spec.loadBalancers: Invalid value: names of loadBalancers must be unique: give one of them another name"},
		{"one twice", func(c *IBMPowerVSCluster) {
			c.Spec.LoadBalancers = []VPCLoadBalancerSpec{{ID: "r006-x"}, {ID: "r006-x", Public: &no}}
		}, "spec.loadBalancers: Invalid value: loadBalancers names a load balancer twice by its id"},
		{"two listeners on a port", func(c *IBMPowerVSCluster) {
			c.Spec.LoadBalancers[0].AdditionalListeners = []AdditionalListenerSpec{{Port: 22}, {Port: 22, Protocol: "udp"}}
		}, `spec.loadBalancers[0].additionalListeners[1]: Duplicate value: {"port":22}`},
		{"one port of two balancers", func(c *IBMPowerVSCluster) {
			c.Spec.LoadBalancers[1].AdditionalListeners = []AdditionalListenerSpec{{Port: 22}}
		}, ""},
		{"port 65536", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[0].AdditionalListeners[0].Port = 65536 }, "additionalListeners[0].port: Invalid value"},
		{"another protocol", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[0].AdditionalListeners[0].Protocol = "sctp" }, "additionalListeners[0].protocol: Unsupported value"},
		{"a pool that isn't there", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[0].AdditionalListeners[0].DefaultPoolName = "http" },
			"spec.loadBalancers[0].additionalListeners: Invalid value: defaultPoolName of each listener must be the name of one of the backendPools"},
		{"pools of one name", func(c *IBMPowerVSCluster) {
			c.Spec.LoadBalancers[0].BackendPools = append(c.Spec.LoadBalancers[0].BackendPools, c.Spec.LoadBalancers[0].BackendPools[0])
		}, "spec.loadBalancers[0].backendPools: Invalid value: names of backendPools must be unique"},
		{"checks that overlap", func(c *IBMPowerVSCluster) { c.Spec.LoadBalancers[0].BackendPools[0].HealthMonitor.Timeout = 5 },
			"healthMonitor.timeout: Invalid value: timeout must be less than delay"},
	})
}

func TestCluster_itsEndpointIsSetOnce(t *testing.T) {
	t.Parallel()
	unset := func() *IBMPowerVSCluster { return &IBMPowerVSCluster{} }
	set := func() *IBMPowerVSCluster {
		return &IBMPowerVSCluster{Spec: IBMPowerVSClusterSpec{ControlPlaneEndpoint: APIEndpoint{Host: "api", Port: 6443}}}
	}
	const immutable = "spec.controlPlaneEndpoint: Invalid value: controlPlaneEndpoint is immutable once it is set"
	checkCreate(t, unset, []refusal[*IBMPowerVSCluster]{
		{"host without port", func(c *IBMPowerVSCluster) { c.Spec.ControlPlaneEndpoint.Host = "api" },
			"spec.controlPlaneEndpoint: Invalid value: host and port are set together: set both, or none"},
		{"port without host", func(c *IBMPowerVSCluster) { c.Spec.ControlPlaneEndpoint.Port = 6443 }, "host and port are set together"},
	})
	checkUpdate(t, unset, []refusal[*IBMPowerVSCluster]{{"from nothing", func(c *IBMPowerVSCluster) { c.Spec.ControlPlaneEndpoint = set().Spec.ControlPlaneEndpoint }, ""}})
	checkUpdate(t, set, []refusal[*IBMPowerVSCluster]{
		{"another host", func(c *IBMPowerVSCluster) { c.Spec.ControlPlaneEndpoint.Host = "other" }, immutable},
		{"none", func(c *IBMPowerVSCluster) { c.Spec.ControlPlaneEndpoint = APIEndpoint{} }, immutable},
		{"something else", func(c *IBMPowerVSCluster) { c.Spec.Zone = "dal10" }, ""},
	})
}

// Go clients of other providers write empty values where nothing is set.
func TestCluster_emptyValuesAreNone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"serviceInstanceID": "", "network": map[string]any{}, "controlPlaneEndpoint": map[string]any{"host": "", "port": int64(0)}, "zone": "",
	}}}
	object.SetGroupVersionKind(GroupVersion.WithKind("IBMPowerVSCluster"))
	object.SetNamespace(testenv.Namespace(t))
	object.SetName("empty")
	g.Expect(c.Create(t.Context(), object)).To(Succeed())
	g.Expect(unstructured.SetNestedMap(object.Object, map[string]any{"host": "api", "port": int64(6443)}, "spec", "controlPlaneEndpoint")).To(Succeed())
	g.Expect(c.Update(t.Context(), object)).To(Succeed())
}

// reasoned is a cluster of which everything was found or made, and a condition says why something can't be used.
func reasoned(condition, reason string) func() *IBMPowerVSCluster {
	return func() *IBMPowerVSCluster {
		c := validCluster()
		made := func() *ResourceReference { return &ResourceReference{ID: "made"} }
		c.Status = IBMPowerVSClusterStatus{
			ResourceGroup: made(), ServiceInstance: made(), Network: made(), DHCPServer: made(), VPC: made(), COSInstance: made(),
			TransitGateway: &TransitGatewayStatus{ID: "made"},
		}
		if condition != "" {
			c.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()}}
		}
		return c
	}
}

var changes = []struct {
	field, condition, message string
	change                    func(*IBMPowerVSCluster)
}{
	{"serviceInstance", WorkspaceReadyCondition, "once the workspace was found or made", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance.Name = "other" }},
	{"zone", ZoneReadyCondition, "once the workspace was found or made", func(c *IBMPowerVSCluster) { c.Spec.Zone = "dal12" }},
	{"resourceGroup", ReferencesResolvedCondition, "once it was found", func(c *IBMPowerVSCluster) { c.Spec.ResourceGroup = nil }},
	{"network", NetworkReadyCondition, "once it was found or made", func(c *IBMPowerVSCluster) { c.Spec.Network = byID("other") }},
	{"dhcpServer", NetworkReadyCondition, "once it was found or made", func(c *IBMPowerVSCluster) { c.Spec.DHCPServer.Snat = &no }},
	{"vpc", VPCReadyCondition, "once it was found or made", func(c *IBMPowerVSCluster) { c.Spec.VPC.Region = "us-east" }},
	{"transitGateway", TransitGatewayReadyCondition, "once it was found or made", func(c *IBMPowerVSCluster) { c.Spec.TransitGateway.GlobalRouting = &no }},
	{"cosInstance", COSInstanceReadyCondition, "once it was found or made", func(c *IBMPowerVSCluster) { c.Spec.CosInstance.BucketName = "other" }},
}

func TestCluster_whatWasMadeStays(t *testing.T) {
	t.Parallel()
	for _, row := range changes {
		change := []refusal[*IBMPowerVSCluster]{{row.field, row.change, ""}}
		t.Run("nothing made", func(t *testing.T) { checkUpdate(t, validCluster, change) })
		t.Run("a condition asks for it", func(t *testing.T) { checkUpdate(t, reasoned(row.condition, "Missing"), change) })
		change[0].message = "spec." + row.field + ": Invalid value: " + row.field + " is immutable " + row.message
		t.Run("made", func(t *testing.T) { checkUpdate(t, reasoned("", ""), change) })
		t.Run("it only isn't ready", func(t *testing.T) { checkUpdate(t, reasoned(row.condition, "Waiting"), change) })
		t.Run("another condition", func(t *testing.T) { checkUpdate(t, reasoned(InstanceReadyCondition, "Missing"), change) })
	}
	byOldField := func() *IBMPowerVSCluster {
		c := reasoned("", "")()
		c.Spec.ServiceInstance, c.Spec.ServiceInstanceID = nil, "w"
		return c
	}
	checkUpdate(t, byOldField, []refusal[*IBMPowerVSCluster]{
		{"from the old field", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstance, c.Spec.ServiceInstanceID = byID("w"), "" }, ""},
		{"another by the old field", func(c *IBMPowerVSCluster) { c.Spec.ServiceInstanceID = "v" }, "spec.serviceInstance: Invalid value"},
		{"what is new", func(c *IBMPowerVSCluster) { c.Spec.Ignition.Version = "3.0" }, ""},
	})
}
