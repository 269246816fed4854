package provider_test

import (
	"maps"
	"testing"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/optest"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestOperations_cluster(t *testing.T) {
	t.Parallel()
	const zone = powervstest.Region + "-1"
	names := func(name string) []any { return []any{"own-" + name, "new-" + name} }
	pool := map[string]any{
		"name": "web", "algorithm": "round_robin", "protocol": "tcp",
		"healthMonitor": map[string]any{"type": "tcp", "delay": int64(10), "timeout": int64(5), "retries": int64(3)},
	}
	source := map[string]any{"protocol": "tcp", "remotes": []any{map[string]any{"remoteType": "any"}}}
	rule := map[string]any{"action": "allow", "direction": "inbound", "source": source}
	values := map[string][]any{
		"authentication.secretRef.name": {"demo", "another"}, "zone": {sim.DefaultZone}, "resourceGroup.name": {sim.DefaultResourceGroup},
		"serviceInstance.name": names("workspace"), "network.name": {"DHCPSERVERown_Private", "DHCPSERVERnew_Private", "new"},
		"dhcpServer.name": {"demo", "other"}, "dhcpServer.cidr": {"192.168.77.0/24"}, "dhcpServer.dnsServer": {"9.9.9.9"},
		"vpc.name": names("vpc"), "vpc.region": {powervstest.Region}, "transitGateway.name": names("gateway"),
		"vpcSubnets[].name": names("subnet"), "vpcSubnets[].zone": {zone}, "vpcSubnets[].cidr": {"10.240.8.0/24", "10.240.9.0/28"},
		"vpcSubnets[]":                {map[string]any{"name": "new-subnet"}, map[string]any{"name": "more", "zone": zone}},
		"vpcSecurityGroups[].name":    names("group"),
		"vpcSecurityGroups[]":         {map[string]any{"name": "new-group", "rules": []any{rule}}, map[string]any{"name": "own-group"}},
		"vpcSecurityGroups[].rules[]": {rule},
		"vpcSecurityGroups[].rules[].source.remotes[].cidrSubnetName":    names("subnet"),
		"vpcSecurityGroups[].rules[].source.remotes[].securityGroupName": names("group"),
		"loadBalancers[].name": names("balancer"), "loadBalancers[].backendPools[]": {pool},
		"loadBalancers[].additionalListeners[]":          {map[string]any{"port": int64(443)}, map[string]any{"port": int64(22), "protocol": "tcp"}},
		"loadBalancers[].additionalListeners[].protocol": {"tcp", "http"},
		"loadBalancers[]":                {map[string]any{"name": "inside", "public": false}},
		"loadBalancers[].subnets[].name": names("subnet"), "loadBalancers[].securityGroups[].name": names("group"),
		"cosInstance.name": {"own-cos", "new-cos"}, "cosInstance.bucketName": {powervstest.OwnBucket, "new-bucket"},
		"cosInstance.bucketRegion": {powervstest.Region}, "ignition": {map[string]any{"version": "3.4"}},
	}
	named := maps.Clone(rows)
	delete(named, "by ID") // which each world has others of
	for name, row := range crashtest.Sample(t, named) {
		written := []string{"controlPlaneEndpoint"}
		if len(row.keys) == 0 { // there is no load balancer: it is the user's own
			written = nil
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			optest.Suite{
				New: func(t *testing.T) *optest.World {
					f := powervstest.Start(t, powervstest.WithWorkspace, func(c *sim.Config) { // with one zone, none is chosen at random
						c.Regions = []sim.Region{{Name: powervstest.Region, Zones: []string{zone}}}
					})
					own := f.MakeOwn()
					f.Create(f.Secret("another"))
					return f.World(f.NewCluster("demo", func(c *infrav1.IBMPowerVSCluster) { row.change(c, own) }))
				},
				Values: values, Written: written, Except: []string{"controlPlaneEndpoint"},
				Fixed: []string{"Invalid", "ClaimChanged"},
			}.Run(t)
		})
	}
}
