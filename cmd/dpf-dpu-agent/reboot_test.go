package main

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// halt kills ovs-vswitchd and ovsdb-server.
func (w *world) halt() {
	w.Helper()
	for _, name := range []string{"ovs-vswitchd", "ovsdb-server"} {
		pid := w.in(dpu, "cat", w.dir(name+".pid"))
		w.in(dpu, "kill", "-9", pid)
		w.Eventually(func() string { return w.in(dpu, "sh", "-c", "cut -d' ' -f3 /proc/"+pid+"/stat 2>/dev/null || true") }).
			WithTimeout(patience).Should(Or(BeEmpty(), Equal("Z")), name)
		w.Expect(os.Remove(w.dir(name + ".pid"))).To(Succeed())
	}
}

// boot starts them again, with the database as it was, or with an empty one that has neither bridges nor a system-id.
func (w *world) boot(empty bool) {
	w.Helper()
	database := w.dir("conf.db")
	if empty {
		w.Expect(os.Remove(database)).To(Succeed())
		w.in(dpu, "ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
		w.in(dpu, "ovsdb-tool", "transact", database, `["Open_vSwitch",{"op":"insert","table":"Open_vSwitch","row":{}}]`)
	}
	w.Expect(os.RemoveAll(w.fabric.Database(dpu))).To(Succeed())
	for _, daemon := range [][]string{
		{"ovsdb-server", database, "--remote=punix:" + w.fabric.Database(dpu)}, {"ovs-vswitchd", "unix:" + w.fabric.Database(dpu), "--disable-system"},
	} {
		_, err := w.fabric.Start(dpu, process.Command{
			Name: daemon[0], Path: daemon[0], Env: w.fabric.Environment(dpu), Log: w.dir(daemon[0] + ".log"),
			Args: append(daemon[1:], "--pidfile", "--no-chdir", "-vsyslog:off", "-vconsole:info"),
		})
		w.Expect(err).NotTo(HaveOccurred())
		w.Eventually(func() error { _, err := os.Stat(w.dir(daemon[0] + ".pid")); return err }).WithTimeout(patience).Should(Succeed())
	}
}

// connect the pods that there are, as the CNI does when they start again.
func (w *world) connect(ports map[string]string) {
	w.Helper()
	var pods corev1.PodList
	w.Expect(w.List(w.Context(), &pods, client.InNamespace(w.namespace))).To(Succeed())
	for _, p := range pods.Items {
		port := ports[p.Labels[ServiceIDLabel]]
		w.vsctl("--may-exist", "add-br", "br-sfc", "--", "set", "bridge", "br-sfc", "datapath_type=netdev", "--", "--may-exist", "add-port", "br-sfc", port,
			"--", "set", "interface", port, fmt.Sprintf(`external_ids:dpf-id="%s/%s/net1"`, w.namespace, p.Name))
	}
}

func (w *world) untilGone(all ...client.Object) {
	w.Helper()
	for _, o := range all {
		w.Eventually(func() bool { return apierrors.IsNotFound(w.Get(w.Context(), client.ObjectKeyFromObject(o), o)) }).
			WithTimeout(patience).Should(BeTrue(), "%s %v", o.GetName(), o.GetFinalizers())
	}
}

// Whatever a chain is at when its DPU reboots, or its Open vSwitch alone, with its database or without it, it gets there.
func TestChain_theDPURebootsInEachPhase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	services := map[string]string{"a": "pf0hpf", "b": "pf1hpf", "c": "pf2hpf"}
	for service, port := range services {
		w.pod(service, port)
		w.service(service)
	}
	w.start()
	for _, row := range []struct{ empty, agentToo bool }{{}, {empty: true}, {empty: true, agentToo: true}} {
		for _, phase := range []string{"creating", "ready", "deleting"} {
			what := fmt.Sprintf("%s, %+v", phase, row)
			t.Log(what)
			pause := func() { w.in(dpu, "kill", "-STOP", w.in(dpu, "cat", w.dir("ovs-vswitchd.pid"))) }
			if phase == "creating" {
				pause()
			}
			pf3 := w.ifc("pf3", physical("pf3hpf"))
			c := w.chain("chain", []string{"a", "b"}, []string{"c", "pf3"})
			if phase == "creating" {
				w.Eventually(func() string { return w.vsctl("--no-wait", "list-ports", "br-sfc") }).WithTimeout(patience).
					Should(ContainSubstring("pf3hpf"), what)
			} else {
				w.untilReady(c, pf3)
			}
			if phase == "deleting" {
				pause()
				w.Expect(w.Delete(t.Context(), c)).To(Succeed())
				w.Expect(w.Delete(t.Context(), pf3)).To(Succeed())
				w.Eventually(func() string { return w.vsctl("--no-wait", "list-ports", "br-sfc") }).WithTimeout(patience).
					ShouldNot(ContainSubstring("pf3hpf"), what)
			}
			if row.agentToo {
				w.Expect(syscall.Kill(w.agent.PID(), syscall.SIGKILL)).To(Succeed())
				<-w.agent.Done()
			}
			w.halt()
			w.boot(row.empty)
			if row.agentToo {
				w.start()
			}
			w.connect(services)
			if phase != "deleting" {
				w.untilReady(c, pf3)
				w.untilPings("h1", "h2")
				w.untilPings("h3", "h4")
				w.Expect(w.pings("h1", ip("h3"))()).To(BeFalse(), what)
				w.Expect(w.vsctl("get", "bridge", "br-sfc", "fail_mode")).To(Equal("secure"), what)
				w.Expect(w.Delete(t.Context(), c)).To(Succeed())
				w.Expect(w.Delete(t.Context(), pf3)).To(Succeed())
			}
			w.untilGone(c, pf3)
			w.Expect(w.vsctl("list-ports", "br-sfc")).To(Equal("pf0hpf\npf1hpf\npf2hpf"), what)
			w.Expect(w.ofctl("dump-flows")).NotTo(ContainSubstring("actions"), what)
		}
	}
}
