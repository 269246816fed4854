package webhook_test

import (
	"testing"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

// A listener leads to the same port of machines: in a pool of two of them each would lead to the ports of both.
func TestListeners_haveAPoolForEach(t *testing.T) {
	t.Parallel()
	with := func(listeners ...infrav1.AdditionalListenerSpec) func(*infrav1.IBMPowerVSCluster) {
		return func(c *infrav1.IBMPowerVSCluster) {
			pool := infrav1.VPCLoadBalancerBackendPoolSpec{
				Name: "web", Algorithm: infrav1.LoadBalancerRoundRobin, Protocol: infrav1.LoadBalancerProtocolTCP,
				HealthMonitor: infrav1.VPCLoadBalancerHealthMonitorSpec{Delay: 5, Retries: 2, Timeout: 2, Type: infrav1.LoadBalancerHealthTCP},
			}
			own := pool
			own.Name = "pool-443"
			c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{
				BackendPools: []infrav1.VPCLoadBalancerBackendPoolSpec{pool, own}, AdditionalListeners: listeners,
			}}
		}
	}
	checkCreate(t, least, []change[*infrav1.IBMPowerVSCluster]{
		{"a pool for one", with(infrav1.AdditionalListenerSpec{Port: 80, DefaultPoolName: "web"}, infrav1.AdditionalListenerSpec{Port: 443}), ""},
		{"a pool for two", with(infrav1.AdditionalListenerSpec{Port: 80, DefaultPoolName: "web"},
			infrav1.AdditionalListenerSpec{Port: 443, DefaultPoolName: "web"}),
			`spec.loadBalancers[0].additionalListeners[443].defaultPoolName: Invalid value: "web": is the pool of port 80, too`},
		{"the pool that another one gets", with(infrav1.AdditionalListenerSpec{Port: 80, DefaultPoolName: "pool-443"},
			infrav1.AdditionalListenerSpec{Port: 443}),
			`spec.loadBalancers[0].additionalListeners[443].defaultPoolName: Invalid value: "pool-443": is the pool of port 80, too`},
	})
}
