package proxy_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestList_comesInPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, all := f.as(tenant("blue")), []string{}
	for i := range 7 {
		all = append(all, fmt.Sprintf("group%d", i))
		f.createGroup(c, all[i])
	}
	names, token, versions := []string{}, "", map[string]bool{}
	for _, size := range []int{3, 3, 1} {
		page, err := c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{PageSize: 3, PageToken: token})
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(page.GetResourceGroups()).To(HaveLen(size))
		for _, g := range page.GetResourceGroups() {
			names = append(names, g.GetMetadata().GetName())
		}
		token, versions[page.GetResourceVersion()] = page.GetNextPageToken(), true
	}
	f.Expect(names).To(Equal(all))
	f.Expect(token).To(BeEmpty())
	f.Expect(versions).To(HaveLen(1))
	_, err := c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{PageSize: -1})
	f.Expect(code(err)).To(Equal(codes.InvalidArgument))
	page, err := c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{PageSize: 1 << 30})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(page.GetResourceGroups()).To(HaveLen(7))
}

// A message has to be taken by a client with gRPC's own limit, 4 MiB.
func TestList_ofLargeObjectsHasSmallPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	blue := tenant("blue")
	c, ctx, message := f.as(blue), t.Context(), strings.Repeat("x", 32<<10)
	for i := range 12 {
		name := fmt.Sprintf("group%d", i)
		f.createGroup(c, name)
		group := &resourcev1.ResourceGroup{}
		f.Expect(testenv.Client(t).Get(ctx, kubernetes.ObjectKey{Namespace: blue, Name: name}, group)).To(Succeed())
		for j := range 14 {
			meta.SetStatusCondition(&group.Status.Conditions, metav1.Condition{
				Type: fmt.Sprintf("Type%d", j), Status: metav1.ConditionTrue, Reason: "Long", Message: message,
			})
		}
		f.Expect(testenv.Client(t).Status().Update(ctx, group)).To(Succeed())
	}
	seen, token, pages := 0, "", 0
	for ok := true; ok; ok = token != "" {
		page, err := c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{PageToken: token})
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(proto.Size(page)).To(BeNumerically("<", 3<<20))
		seen, pages, token = seen+len(page.GetResourceGroups()), pages+1, page.GetNextPageToken()
	}
	f.Expect(seen).To(Equal(12))
	f.Expect(pages).To(BeNumerically(">=", 3))
}

// No input leads to objects of others, or to a bug. It is no fuzz target of Go's, since each of its workers would have an
// API server of its own, and leave it behind.
func TestTenants_canWriteWhatTheyLike(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.TenantQPS = 1e9 })
	blue, red, random := tenant("blue"), tenant("red"), rand.New(rand.NewPCG(7, 7))
	reds := f.as(red)
	for i := range 3 {
		f.createGroup(reds, fmt.Sprintf("secret%d", i))
	}
	page, err := reds.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{PageSize: 1})
	f.Expect(err).NotTo(HaveOccurred())
	forge := func(start string) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v":"meta.k8s.io/v1","rv":%s,"start":%q}`, page.GetResourceVersion(), start))
	}
	tokens := []string{
		page.GetNextPageToken(), forge("../" + red + "/"), forge("/../../" + red + "/secret0"), forge(red + "/"), "x", "", "\x00",
		forge("../../../namespaces/"), base64.RawURLEncoding.EncodeToString([]byte("secret0")),
	}
	names := []string{"secret0", "../" + red + "/secret0", "secret0?watch=1", "%2e%2e%2f" + red, red, ""}
	asked := []string{red, "", blue, "../" + red, "-", blue + "/../" + red}
	c := f.as(blue)
	for range 1000 {
		f.tryAsTenant(c, spoil(random, tokens), spoil(random, names), spoil(random, asked))
	}
}

// spoil one of some words, or leave it as it is.
func spoil(random *rand.Rand, words []string) string {
	word := []byte(words[random.IntN(len(words))])
	for range random.IntN(3) {
		at := random.IntN(len(word) + 1)
		word = slices.Insert(word, at, "\x00/.%-Az0\n"[random.IntN(9)])
		word = slices.Delete(word, at/2, at/2+random.IntN(2))
	}
	return strings.ToValidUTF8(string(word), "")
}

// tryAsTenant what leads to nothing, with a page's token, a name, and the name of a tenant.
func (f *fixture) tryAsTenant(c *client.Client, token, name, asked string) {
	f.t.Helper()
	ctx, tried := f.t.Context(), fmt.Sprintf("%q %q %q", token, name, asked)
	refused := func(err error, more ...codes.Code) {
		f.t.Helper()
		f.Expect(code(err)).To(BeElementOf(append(more, codes.InvalidArgument, codes.PermissionDenied, codes.OutOfRange)), "%s: %v", tried, err)
		f.Expect(err.Error()).NotTo(ContainSubstring("/registry"))
	}
	groups, err := c.ResourceGroups.List(ctx, &proxyv1.ListRequest{Tenant: asked, PageToken: token, PageSize: 2})
	f.Expect(groups.GetResourceGroups()).To(BeEmpty(), tried)
	if err != nil {
		refused(err)
	}
	ips, err := c.PublicIPs.List(ctx, &proxyv1.ListRequest{Tenant: asked, PageToken: token})
	f.Expect(ips.GetPublicIps()).To(BeEmpty(), tried)
	if err != nil {
		refused(err)
	}
	_, err = c.ResourceGroups.Get(ctx, &proxyv1.GetRequest{Tenant: asked, Name: name})
	refused(err, codes.NotFound)
	_, err = c.ResourceGroups.Delete(ctx, &proxyv1.DeleteRequest{Tenant: asked, Name: name})
	refused(err, codes.NotFound)
}
