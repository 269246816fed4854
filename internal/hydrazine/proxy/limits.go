package proxy

import (
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"k8s.io/utils/lru"

	"github.com/bedplate/bedplate/internal/evict"
)

const (
	// maxRequests bounds the bytes of all open calls, and maxUnsent those of answers that clients don't take. Beyond that, the
	// tenant that has the most loses its heaviest call, or the connection with most answers.
	maxRequests, maxUnsent = 128 << 20, 64 << 20
	// decoded is how many times its size a message may take in memory, at most.
	decoded = 16
	// callWeight is that of a call without its message: its goroutine, its headers, its contexts.
	callWeight = 32 << 10
	// writeBurst is for how many seconds a tenant may save up its rate of writes.
	writeBurst = 32
)

// refusals is how many calls of a tenant are refused for each that it may make. Each refusal is work, so beyond that its
// connection is closed.
const refusals = 10

// tenantsRemembered is for how many tenants their pace is remembered. One that is forgotten starts with its whole burst
// again.
const tenantsRemembered = 16384

// limits keep one tenant from taking everything. Operators have none, except for all connections together.
type limits struct {
	rate, bytes          rate.Limit
	burst, bytesBurst    int
	all                  *quota // of all connections, of any client
	connections, watches *quota
	lists                *turns
	requests, unsent     *evict.Set[string] // bytes, by organization
	paces                *lru.Cache         // *pace by organization
	mutex                sync.Mutex         // makes one pace for each
}

func newLimits(c *Config) *limits {
	return &limits{
		rate: rate.Limit(c.TenantQPS), burst: c.TenantBurst, paces: lru.New(tenantsRemembered),
		bytes: rate.Limit(c.TenantWriteBytes), bytesBurst: max(writeBurst*c.TenantWriteBytes, maxMessage),
		requests: evict.New[string](maxRequests), unsent: evict.New[string](maxUnsent),
		lists:       newTurns(listsAtATime, tenantLists),
		all:         &quota{each: c.Connections, used: map[string]int{}},
		connections: &quota{each: c.TenantConnections, used: map[string]int{}},
		watches:     &quota{each: c.TenantWatches, used: map[string]int{}},
	}
}

// pace of one tenant.
type pace struct{ calls, refusals, bytes *rate.Limiter }

// call counts one.
func (l *limits) call(who caller) error {
	if who.operator {
		return nil
	}
	return reserve(l.pace(who.organization).calls, 1, "the tenant exceeds its limit of calls")
}

// refuse counts a call that is refused, and reports whether there may be another one.
func (l *limits) refuse(who caller) bool { return l.pace(who.organization).refusals.Allow() }

// write counts the bytes of a message that is to be written.
func (l *limits) write(who caller, bytes int) error {
	if who.operator {
		return nil
	}
	return reserve(l.pace(who.organization).bytes, bytes, "the tenant exceeds its limit of written bytes")
}

func reserve(from *rate.Limiter, n int, problem string) error {
	booked := from.ReserveN(time.Now(), n)
	wait := booked.Delay()
	if wait == 0 {
		return nil
	}
	booked.Cancel()
	return tooMany(problem, wait)
}

func (l *limits) pace(organization string) *pace {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if known, found := l.paces.Get(organization); found {
		return known.(*pace)
	}
	p := &pace{
		calls: rate.NewLimiter(l.rate, l.burst), refusals: rate.NewLimiter(refusals*l.rate, refusals*l.burst),
		bytes: rate.NewLimiter(l.bytes, l.bytesBurst),
	}
	l.paces.Add(organization, p)
	return p
}

// quota is how many of something each tenant may have at a time.
type quota struct {
	each  int
	mutex sync.Mutex
	used  map[string]int
}

// take one. The caller has to give it back.
func (q *quota) take(who caller) (giveBack func(), ok bool) {
	if who.operator {
		return func() {}, true
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.used[who.organization] >= q.each {
		return nil, false
	}
	q.used[who.organization]++
	return sync.OnceFunc(func() {
		q.mutex.Lock()
		defer q.mutex.Unlock()
		if q.used[who.organization]--; q.used[who.organization] == 0 {
			delete(q.used, who.organization)
		}
	}), true
}

// connect counts a connection.
func (l *limits) connect(who caller) (giveBack func(), err error) {
	all, ok := l.all.take(caller{})
	if !ok {
		return nil, status.Error(codes.ResourceExhausted, "the proxy has reached its limit of connections")
	}
	own, ok := l.connections.take(who)
	if !ok {
		all()
		return nil, status.Error(codes.ResourceExhausted, "the tenant has reached its limit of connections")
	}
	return func() { own(); all() }, nil
}

// gate of the connections whose clients are authenticated. It is a mtls.Gate.
type gate struct {
	tenancy *Tenancy
	limits  *limits
	metrics *Metrics
}

// session is a connection whose client is known, with the bytes of answers that aren't written yet.
type session struct {
	credentials.AuthInfo
	unsent *evict.Entry[string]
	raw    net.Conn // ends it at once when it is closed
}

// Admit implements mtls.Gate.
func (g *gate) Admit(raw net.Conn, info credentials.AuthInfo) (credentials.AuthInfo, func(), error) {
	who, err := g.tenancy.identify(info)
	if err != nil {
		g.metrics.refuse(refusedHandshake)
		return nil, nil, err
	}
	giveBack, err := g.limits.connect(who)
	if err != nil {
		g.metrics.refuse(refusedConnections)
		return nil, nil, err
	}
	unsent := g.limits.unsent.Add(who.organization, 0, func() {
		g.metrics.refuse(refusedAnswers)
		_ = raw.Close()
	})
	return &session{info, unsent, raw}, func() { unsent.Remove(); giveBack() }, nil
}

// Refused implements mtls.Gate.
func (g *gate) Refused(err error) { g.metrics.refuseHandshake(err) }

// tooMany says when there may be another one.
func tooMany(message string, wait time.Duration) error {
	return failure{code: codes.ResourceExhausted, message: message, reason: "TOO_MANY_REQUESTS", retry: wait}.error()
}
