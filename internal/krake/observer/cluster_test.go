package observer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

func TestCluster_thatIsRegisteredIsObserved(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := serve(t, nodes("a", "b"))
	f.secret("demo", s.kubeconfig(f))
	c := f.becomes(f.register("demo", 1), krakev1.StateOnline)
	f.Expect(meta.IsStatusConditionTrue(c.Status.Conditions, krakev1.ReadyCondition)).To(BeTrue())
	f.Expect(c.Status.Nodes).To(HaveLen(2))
	f.Expect(c.Status.Reason).To(BeNil())

	s.now(nodes("a", "lost"))
	f.becomes(c, krakev1.StateNotReady)
	f.Expect(condition(c, krakev1.NodesHealthyCondition).Message).To(ContainSubstring("1 of 2 nodes not ready: lost"))
	f.Expect(c.Status.Nodes[0].Name).To(Equal("lost"), "first what is wrong")
	for _, pressure := range []string{"MemoryPressure", "DiskPressure", "PIDPressure"} {
		s.now(nodes("a", pressure))
		f.Eventually(func() string { return condition(f.get(c), krakev1.NodesHealthyCondition).Message }).Should(ContainSubstring(pressure))
		f.Expect(c.Status.State).To(Equal(krakev1.StateUnhealthy))
	}
	f.Expect(condition(c, krakev1.ReachableCondition).Status).To(Equal(metav1.ConditionTrue))
	f.Expect(condition(c, krakev1.ReadyCondition).Status).To(Equal(metav1.ConditionFalse))

	s.now(refuse(http.StatusInternalServerError))
	f.becomes(c, krakev1.StateOffline)
	f.Expect(condition(c, krakev1.ReachableCondition).Message).To(And(ContainSubstring("HTTP 500"), Not(ContainSubstring(token))))
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonRetrieveFailed))
	f.Expect(c.Status.Retries).To(BeNumerically(">", 1))
	s.now(nodes("a"))
	f.becomes(c, krakev1.StateOnline)
	f.Expect(c.Status.Retries).To(BeZero())
}

func TestCluster_thatWasMadeGoesOnFromCONNECTINGOnly(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := serve(t, nodes("a"))
	f.secret("demo", s.kubeconfig(f))
	c := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "demo"}, Spec: krakev1.ClusterSpec{
		TOSCA: "a: b", Kubeconfig: &krakev1.Kubeconfig{SecretRef: krakev1.SecretReference{Name: "demo"}}, Paused: true,
	}}
	f.Expect(f.client.Create(f.t.Context(), c)).To(Succeed())
	to := func(state krakev1.ClusterState) {
		f.Eventually(func() error {
			f.get(c).Status.State = state
			c.Status.ScheduledTo = &krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "a"}
			return f.client.Status().Update(f.t.Context(), c)
		}).Should(Succeed())
	}
	to(krakev1.StateReconciling)
	f.Eventually(func() error { f.get(c).Spec.Paused = false; return f.client.Update(f.t.Context(), c) }).Should(Succeed())
	f.Consistently(s.calls.Load, 3*interval).Should(BeZero())
	to(krakev1.StateConnecting)
	f.becomes(c, krakev1.StateOnline)
	f.Expect(condition(c, krakev1.ReadyCondition)).To(BeNil(), "who makes it says so")
	to(krakev1.StateDeleting)
	f.Consistently(func() krakev1.ClusterState { return f.get(c).Status.State }, 4*interval).Should(Equal(krakev1.StateDeleting))
}

func TestCluster_thatFlapsStaysAsItIs(t *testing.T) {
	t.Parallel()
	f := start(t)
	well, lost := nodes("a"), nodes("lost")
	s := serve(t, well)
	f.secret("demo", s.kubeconfig(f))
	c := f.becomes(f.register("demo", -1), krakev1.StateOnline)
	var looks atomic.Int32
	s.now(func(w http.ResponseWriter, r *http.Request) {
		if looks.Add(1)%2 == 0 {
			well(w, r)
			return
		}
		lost(w, r)
	})
	version := c.ResourceVersion
	f.Eventually(looks.Load).Should(BeNumerically(">", 6))
	f.Expect(f.get(c).ResourceVersion).To(Equal(version), "nothing is written")
}

func TestCluster_atRestIsListedOncePerInterval(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := serve(t, nodes("a"))
	f.secret("demo", s.kubeconfig(f))
	c := f.becomes(f.register("demo", -1), krakev1.StateOnline)
	version, well := c.ResourceVersion, nodes("a")
	var mu sync.Mutex
	var looks []time.Time
	s.now(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		looks = append(looks, time.Now())
		mu.Unlock()
		well(w, r)
	})
	// A busy machine makes some late, but not ten in a row until patience ends; and none is ever early.
	f.Eventually(func(g Gomega) {
		mu.Lock()
		defer mu.Unlock()
		g.Expect(len(looks)).To(BeNumerically(">", 10))
		last := looks[len(looks)-11:]
		g.Expect(last[10].Sub(last[0])).To(BeNumerically("<=", 13*interval))
		for i := range 10 {
			g.Expect(last[i+1].Sub(last[i])).To(BeNumerically(">=", interval))
		}
	}).Should(Succeed())
	f.Expect(f.get(c).ResourceVersion).To(Equal(version), "nothing is written")
}

func TestCluster_whoseKubeconfigIsMalformedIsFAILEDUntilItIsCorrected(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := serve(t, nodes("a"))
	good := string(s.kubeconfig(f))
	for name, text := range map[string]string{
		"empty": "", "text": "x", "a-list": "[]", "two-contexts": strings.Replace(good, "contexts:\n", "contexts:\n- context: {cluster: c, user: u}\n  name: y\n", 1),
		"a-program": strings.Replace(good, "token: "+token, "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [/tmp/x]}", 1),
		"a-file":    strings.Replace(good, "token: "+token, "tokenFile: /etc/hostname", 1),
		"a-bomb":    "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]\n",
		"no-pem":    strings.Replace(good, "certificate-authority-data: ", "certificate-authority-data: eHh4eHh4\n    #", 1),
		"too-long":  good + strings.Repeat("# x\n", 100_000),
	} {
		f.secret(name, []byte(text))
		c := f.becomes(f.register(name, 0), krakev1.StateFailed)
		f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonInvalidResource), name)
		f.Expect(c.Status.Reason.Message).To(And(ContainSubstring(name), Not(ContainSubstring(token))), name)
		f.Expect(condition(c, krakev1.KubeconfigReadyCondition).Status).To(Equal(metav1.ConditionFalse), name)
	}
	missing := f.becomes(f.register("missing", 0), krakev1.StateFailed)
	f.Expect(missing.Status.Reason.Message).To(ContainSubstring("missing does not exist: create it"))
	f.Expect(s.calls.Load()).To(BeZero())
	for _, name := range []string{"missing", "a-program"} {
		f.secret(name, []byte(good))
		f.becomes(&krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}, krakev1.StateOnline)
	}
}

func TestCluster_thatHangsDelaysNoOthers(t *testing.T) {
	t.Parallel()
	f := start(t)
	alive := serve(t, nodes("a"))
	f.secret("alive", alive.kubeconfig(f))
	f.becomes(f.register("alive", -1), krakev1.StateOnline)
	var now, most atomic.Int32
	dead := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for n, m := now.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			continue
		}
		defer now.Add(-1)
		hang(w, r)
	})
	for i := range 20 { // more than there are turns
		name := fmt.Sprintf("dead-%d", i)
		f.secret(name, dead.kubeconfig(f))
		f.register(name, -1)
	}
	f.Eventually(now.Load).Should(BeNumerically(">=", 5), "half of the turns of clusters that have never answered")
	for range 3 {
		calls := alive.calls.Load()
		f.Eventually(alive.calls.Load).Should(BeNumerically(">", calls+1))
	}
	f.Expect(most.Load()).To(BeNumerically("<=", 10), "and of those that don't answer any more; the other workers are free")
}

func TestCluster_ofFiveThousandNodesFitsIntoAStatus(t *testing.T) {
	t.Parallel()
	f := start(t)
	var names []string
	for i := range 5000 {
		name := fmt.Sprintf("node-%d", i)
		if i%10 == 9 {
			name = "lost-" + name
		}
		names = append(names, name)
	}
	s := serve(t, nodes(names...))
	f.secret("demo", s.kubeconfig(f))
	c := f.becomes(f.register("demo", -1), krakev1.StateNotReady)
	f.Expect(condition(c, krakev1.NodesHealthyCondition).Message).To(ContainSubstring("500 of 5000 nodes not ready: lost-node-9, "))
	f.Expect(c.Status.Nodes).To(HaveLen(500))
	f.Expect(c.Status.Nodes).To(HaveEach(HaveField("Name", HavePrefix("lost"))))
	data, err := json.Marshal(c)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(len(data)).To(BeNumerically("<", 400<<10))
}

func TestCluster_thatAnswersStrangelySaysWhatToDo(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"forbidden":    {refuse(http.StatusForbidden), "doesn't let the user of the kubeconfig list nodes"},
		"unauthorized": {refuse(http.StatusUnauthorized), "doesn't let the user of the kubeconfig list nodes"},
		"html":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>"+token) }, "answers as none does"},
		"values": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"kind":"NodeList","items":[{"status":{"conditions":[{}`+strings.Repeat(",{}", 300_000)+`]}}]}`)
		}, "answers as none does"},
		"items": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"kind":"NodeList","items":[{}`+strings.Repeat(",{}", 1000)+`]}`)
		}, "answers as none does"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for _, err := w.Write([]byte(`{"items":[`)); err == nil; _, err = w.Write([]byte(strings.Repeat("{},", 1<<10))) {
				continue
			}
		}, "doesn't answer"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusTemporaryRedirect) }, "doesn't answer"},
	} {
		s := serve(t, c.answer)
		f.secret(name, s.kubeconfig(f))
		found := f.becomes(f.register(name, 0), krakev1.StateOffline)
		f.Expect(condition(found, krakev1.ReachableCondition).Message).To(And(ContainSubstring(c.says), Not(ContainSubstring(token))), name)
	}
	away := serve(t, hang)
	away.Close()
	f.secret("away", away.kubeconfig(f))
	found := f.becomes(f.register("away", 0), krakev1.StateOffline)
	f.Expect(condition(found, krakev1.ReachableCondition).Message).To(ContainSubstring("doesn't answer: see whether it runs"))
}
