package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
)

// IM puts IDs of credentials into its own language, where one that begins with a digit is an error: it answers 500.
func TestNames_mayBeginWithADigit(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.Create(f.Secret("1st", map[string]string{im.SecretKeyUsername: "1", im.SecretKeyPassword: "1"}))
	f.Create(f.Secret("2nd", map[string]string{im.FieldType: "Dummy"}))
	f.Create(&krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: "3rd", Namespace: f.Namespace}, Spec: krakev1.InfrastructureProviderSpec{
		Type: "im", IM: krakev1.IMProvider{URL: kraketest.Address, SecretRef: krakev1.SecretReference{Name: "1st"}},
	}})
	f.Create(&krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Name: "4th", Namespace: f.Namespace}, Spec: krakev1.CloudSpec{
		Type: krakev1.CloudTypeIM, IM: &krakev1.IMCloud{
			SecretRef: krakev1.SecretReference{Name: "2nd"},
			CloudUse:  krakev1.CloudUse{InfrastructureProvider: krakev1.ProviderReference{Name: "3rd", Namespaced: true}},
		},
	}})
	c := f.CreateCluster("5th")
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(c.Spec.Kubeconfig.SecretRef.Name).To(Equal("5th-kubeconfig"))
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.IM.State()).To(BeEmpty())
}

func TestSecret_thatIsMissingOrWrongIsNamedAndEndsWithItsCorrection(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t, func(c *sim.Config) { c.Users = map[string]string{kraketest.Username: kraketest.Password} })
	f.CreateCloudWith(f.Secret("other", nil))
	c := f.CreateCluster("demo")
	login := f.Secret(kraketest.ProviderName, map[string]string{im.SecretKeyUsername: kraketest.Username})
	name := "secret " + f.Namespace + "/" + kraketest.ProviderName
	fails := func(condition, message string) {
		f.UntilReason(c, condition, "Credentials", message)
		f.UntilState(c, krakev1.StateFailed)
		f.Expect(c.Status.Reason.Message).To(ContainSubstring(name))
	}
	change := func(password string) {
		kraketest.Change(f, login, func(s *corev1.Secret) { s.Data[im.SecretKeyPassword] = []byte(password) })
	}
	fails(krakev1.InfrastructureReadyCondition, name+" does not exist: create it")
	f.Create(login)
	fails(krakev1.InfrastructureReadyCondition, name+" has no password")
	change("wr0ng")
	fails(krakev1.TemplateValidCondition, "correct the login in "+name)
	f.Expect(fmt.Sprint(c)).NotTo(ContainSubstring("wr0ng"))
	f.Expect(f.Called("createInfrastructure")).To(BeZero())
	change(kraketest.Password)
	f.UntilState(c, krakev1.StateConnecting)
}

// Nothing is given up, and nothing is touched: it is neither deleted nor made again. With its cloud it goes on.
func TestCloud_thatIsGoneWhileAClusterRuns(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	before := f.IM.State()
	cloud := &krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Name: kraketest.CloudName, Namespace: f.Namespace}}
	f.Delete(cloud)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(cloud)).To(Succeed())
		g.Expect(cloud.Status.Conditions).To(ContainElement(And(
			HaveField("Type", krakev1.DeletingCondition), HaveField("Message", ContainSubstring("Cluster "+f.Namespace+"/demo: delete these first")),
		)))
	}).Should(Succeed())
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = three })
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(c)).To(Succeed())
		g.Expect(c.Status.LastAppliedTOSCA).To(Equal(three), "as long as it is kept, all goes on")
	}).Should(Succeed())
	f.UntilState(c, krakev1.StateConnecting)

	kraketest.Change(f, cloud, func(c *krakev1.Cloud) { c.Finalizers = nil }) // by force
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Invalid", "Cloud "+f.Namespace+"/cloud doesn't exist: create it")
	f.UntilState(c, krakev1.StateFailed)
	f.Expect(f.IM.State()).To(ConsistOf(HaveField("ID", before[0].ID)))
	again := &krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Name: cloud.Name, Namespace: cloud.Namespace}, Spec: cloud.Spec}
	f.Create(again)
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(f.Called("createInfrastructure")).To(Equal(1))
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.IM.State()).To(BeEmpty())
}

// Without the webhook, too: a few lines of aliases mean billions of values.
func TestTemplate_thatIsABombIsNeitherReadNorSent(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	f := kraketest.Start(t)
	f.CreateCloud()
	c := f.CreateCluster("demo", func(c *krakev1.Cluster) { c.Spec.TOSCA += bomb.String() })
	f.UntilReason(c, krakev1.TemplateValidCondition, "Invalid", "more than 100000 values, aliases resolved")
	f.UntilState(c, krakev1.StateFailed)
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonInvalidResource))
	f.Expect(f.IM.Calls()).To(BeEmpty())
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = kraketest.Template })
	f.UntilState(c, krakev1.StateConnecting)
}

func TestTemplate_ofTwoMegabytesIsRefused(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	c := f.NewCluster("demo", func(c *krakev1.Cluster) { c.Spec.TOSCA += strings.Repeat("# a comment that is long\n", 84_000) })
	f.Expect(f.Client.Create(t.Context(), c)).To(MatchError(ContainSubstring("spec.tosca: Too long: may not be more than 204800 bytes")))
}

// More than a condition has room for: the API server would refuse the whole status, and the Cluster would say nothing.
func TestTemplate_withAThousandProblemsSaysTheFirst(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.CreateCloud()
	c := f.CreateCluster("demo", func(c *krakev1.Cluster) {
		c.Spec.TOSCA += "imports: [" + strings.Repeat("'https://example.com/types.yaml',", 1000) + "]\n"
	})
	f.UntilReason(c, krakev1.TemplateValidCondition, "Invalid", `imports: "https://example.com/types.yaml" isn't allowed`)
	f.UntilState(c, krakev1.StateFailed)
	f.Expect(c.Status.Reason.Message).To(HaveSuffix("…"))
}

// A creation that hangs is reconfigured after the deadline, and the condition says so; it doesn't wait for ever.
func TestDeadline_ofACreationThatHangs(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t, func(c *sim.Config) { c.Times.Configure = hours(10000) })
	f.Config.CreateDeadline = 10 * kraketest.Poll
	f.RunControllers()
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Failed", "5 of 5 repairs tried")
	f.Expect(c.Status.State).To(Equal(krakev1.StateFailed))
	f.Expect(f.Called("reconfigureInfrastructure")).To(Equal(5))
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.IM.State()).To(BeEmpty())
}

// The user who has stopped it may start it again; no other client does, and a reconfigure of machines that are off fails.
func TestDeadline_isNoReasonToReconfigureWhatWasStopped(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	f.Config.CreateDeadline = 50 * kraketest.Poll
	f.RunControllers()
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateConnecting)
	before := f.Called("reconfigureInfrastructure")
	f.Expect(f.IM.SetStatus(sim.Status{ID: c.Status.ClusterID, State: im.Stopped})).To(Succeed())
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Failed", "was stopped (it is stopped): start it")
	f.UntilState(c, krakev1.StateFailed)
	f.Expect(f.Called("reconfigureInfrastructure")).To(Equal(before))
	f.Expect(f.IM.SetStatus(sim.Status{ID: c.Status.ClusterID, State: im.Configured})).To(Succeed())
	f.UntilState(c, krakev1.StateConnecting)
}
