package controller_test

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// hears has a DPU follow all changes of a group from now on.
func (f *fixture) hears(group *resourcev1.ResourceGroup, chassis string) {
	f.t.Helper()
	agent := f.agents[chassis]
	f.writes(group, chassis, func(change int64) { agent.Forward(string(group.UID), change) })
}

// writes does from now on what ovn-controller of a DPU does when it has heard of a change: it says the change's number, and no larger one.
// What follows gets the number now and then.
func (f *fixture) writes(group *resourcev1.ResourceGroup, chassis string, follow func(change int64)) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan struct{})
	f.t.Cleanup(func() { cancel(); <-ended })
	socket := func(database string) string {
		return fmt.Sprintf("--db=unix:%s/ovn-%s/%s.sock", f.dir, group.UID, database)
	}
	go func() {
		defer close(ended)
		for has := ""; ctx.Err() == nil; {
			change, err := exec.CommandContext(ctx, "ovn-nbctl", socket("nb"), "--timeout=10", "get", "NB_Global", ".", "nb_cfg").Output()
			if now := strings.TrimSpace(string(change)); err == nil && now != has {
				if exec.CommandContext(ctx, "ovn-sbctl", socket("sb"), "--timeout=10", "--", "--if-exists", "destroy", "Chassis_Private", chassis,
					"--", "create", "Chassis_Private", "name="+chassis, "nb_cfg="+now).Run() == nil {
					has = now
				}
			}
			if number, err := strconv.ParseInt(has, 10, 64); err == nil {
				follow(number)
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
}
