package inventory_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// Each cluster may have a Secret of its own, with the same login in it.
func TestInventory_isOneListForAllSecretsOfAnAccount(t *testing.T) {
	t.Parallel()
	f := start(t, 1)
	for range 3 {
		f.api = f.login("token")
		f.Expect(f.status(0)).To(Equal("Ready"))
	}
	lists, _ := f.calls()
	f.Expect(lists).To(Equal(1))
	f.api = f.login("another-token")
	f.Expect(f.status(0)).To(Equal("Ready"))
	lists, _ = f.calls()
	f.Expect(lists).To(Equal(2), "another account may see something else")
}

// What was got, or put, has user data; what is kept doesn't.
func TestInventory_keepsNoUserData(t *testing.T) {
	t.Parallel()
	f := start(t, 1)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.instances[id(1)] = "Ready"
	f.Expect(f.status(1)).To(Equal("Ready"), "got by its ID")
	f.inventory.Put(f.api, siteID, &bmm.Instance{ID: id(2), SiteID: siteID, Status: bmm.InstancePending, UserData: "secret", IpxeScript: "secret"})
	f.Expect(f.status(2)).To(Equal("Pending"))
	known, _, ok := f.inventory.Known(f.api, siteID, id(2))
	f.Expect(ok).To(BeTrue())
	f.Expect(known.UserData + known.IpxeScript).To(BeEmpty())
	_, gets := f.calls()
	f.Expect(gets).To(Equal(1))
}

func TestInventory_hasRoomForALargeSite(t *testing.T) {
	t.Parallel()
	const number = 10_000
	f := start(t, number)
	face := map[string]any{
		"id": id(1), "instanceId": id(2), "subnetId": id(3), "status": "Ready", "macAddress": "00:00:00:00:00:00",
		"ipAddresses": []string{"10.0.0.1"}, "created": time.Now(), "updated": time.Now(),
	}
	f.more = map[string]any{
		"tenantId": id(1), "instanceTypeId": id(2), "operatingSystemId": id(3), "machineId": "fm100" + strings.Repeat("h", 54),
		"labels":     map[string]string{"owner": id(1), "key": "instance", "token": id(2), "kind": "NvidiaBMMMachine", "name": "machine"},
		"interfaces": []any{face, face}, "serialConsoleUrl": "ssh://" + id(1) + "@console.example.com", "created": time.Now(),
	}
	for n := range number {
		f.Expect(f.status(n)).To(Equal("Ready"))
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(1))
	f.Expect(gets).To(BeZero())
}
