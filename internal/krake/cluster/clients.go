package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// Manager makes infrastructures from templates, with its own login and that of a cloud. *im.Client is one; another one would be made by
// Clients for another type of InfrastructureProvider. Its errors are of package fault: NotFound is proven, and Busy is for later.
type Manager interface {
	// Endpoint of the service, and User of it: what another user has made can't be seen.
	Endpoint() string
	User() string
	// Answers is an error if the service is known not to answer. Of many callers one at a time finds out whether it does again.
	Answers(ctx context.Context) error
	// Create returns an ID before the infrastructure is complete.
	Create(ctx context.Context, template string) (id string, _ error)
	// DryRun checks a template, and makes nothing.
	DryRun(ctx context.Context, template string) (map[string]im.Estimate, error)
	// Update merges a template into that of an infrastructure; Reconfigure configures its machines again.
	Update(ctx context.Context, id, template string) error
	Reconfigure(ctx context.Context, id string) error
	// Delete returns before it is done.
	Delete(ctx context.Context, id string) error
	State(ctx context.Context, id string) (*im.Infrastructure, error)
	// Tosca is the template of an infrastructure, and ContMsg the end of its log.
	Tosca(ctx context.Context, id string) (string, error)
	ContMsg(ctx context.Context, id string, lines int) ([]string, error)
	// Outputs of the template, such as the kubeconfig.
	Outputs(ctx context.Context, id string) (map[string]string, error)
	// List has the IDs of the user's infrastructures, at least of those whose template contains a text.
	List(ctx context.Context, containing string) ([]string, error)
}

// Clients has a Manager for each place, and makes another one when the place or one of its Secrets changes.
type Clients struct {
	secrets credentials.Cache[*corev1.Secret]
	change  func(*im.Config)

	mu sync.Mutex
	// known are the connections that were used lately, by their cloudKey.
	known *lru.Cache
	// logins are when each of them was written first, as far as that was seen lately, by its hash.
	logins *lru.Cache
}

// maxLogins and maxClients bound those that are remembered: tenants may write any number, and delete them.
const maxLogins, maxClients = 1000, 1000

// cloudKey names a cloud.
type cloudKey struct {
	namespace string
	krakev1.CloudReference
}

// connection is a client with what it is made of. A Secret that says something else is another one.
type connection struct {
	url          string
	openstack    im.OpenStack
	login, cloud *corev1.Secret
	client       *im.Client
}

// NewClients reads Secrets past the cache, and their metadata from it. Change modifies the configuration of clients, and may be nil.
func NewClients(live, metadata credentials.Reader, clock clock.PassiveClock, change func(*im.Config)) *Clients {
	return &Clients{change: change, known: lru.New(maxClients), logins: lru.New(maxLogins), secrets: credentials.Cache[*corev1.Secret]{
		Reader: live, Metadata: metadata, Clock: clock, Build: func(s *corev1.Secret) (*corev1.Secret, error) { return s.DeepCopy(), nil },
	}}
}

// Of a place. A Secret that is missing or can't be used is an error of the class fault.Credentials that names it.
func (c *Clients) Of(ctx context.Context, p *Place) (Manager, error) {
	login, err := c.secrets.Client(ctx, p.Login)
	if err != nil {
		return nil, err
	}
	secret, err := c.secrets.Client(ctx, p.CloudLogin)
	if err != nil {
		return nil, err
	}
	p.note(c.loginWritten(login), login, secret)
	wanted := connection{url: p.url, openstack: openStack(p.Cloud.Described()), login: login, cloud: secret}
	key := cloudKey{p.Cloud.GetNamespace(), p.Cloud.Reference()}
	c.mu.Lock()
	defer c.mu.Unlock()
	last, _ := c.known.Get(key)
	known, _ := last.(connection)
	if wanted.client = known.client; known.client != nil && known == wanted {
		return known.client, nil
	}
	cloud, err := credential(p.Cloud.Described(), secret)
	if err == nil {
		wanted.client, err = im.Connect(p.url, []im.Credential{cloud}, c.change)(login)
	}
	if err != nil {
		return nil, &fault.Error{Class: fault.Credentials, Err: err}
	}
	c.known.Add(key, wanted)
	return wanted.client, nil
}

// loginWritten tells versions apart of a login by a password, each of which is another user. One that is put back is the one that it was,
// and so is one beside which something else was written, unless the manager was restarted in between.
func (c *Clients) loginWritten(login *corev1.Secret) string {
	if len(login.Data[im.SecretKeyToken]) > 0 {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %q", login.UID, login.Data[im.SecretKeyUsername], login.Data[im.SecretKeyPassword]))
	c.mu.Lock()
	defer c.mu.Unlock()
	first, seen := c.logins.Get(sum)
	if !seen {
		first = written(login)
		c.logins.Add(sum, first)
	}
	return first.(string)
}

// written is when a Secret's data was written last, and which Secret that is: a finalizer or a label changes neither.
func written(secret *corev1.Secret) string {
	last := secret.CreationTimestamp
	for _, f := range secret.ManagedFields {
		if f.Time != nil && f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:data"`) && last.Before(f.Time) {
			last = *f.Time
		}
	}
	return string(secret.UID) + " " + last.UTC().Format(time.RFC3339)
}
