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
)

// tenantsRemembered is for how many tenants their pace is known. One that is forgotten begins with its whole burst again.
const tenantsRemembered = 16384

// limits keep one tenant from taking everything. Operators have none, but for all connections together.
type limits struct {
	rate                 rate.Limit
	burst                int
	all                  *quota // of all connections, whosever they are
	connections, watches *quota
	paces                *lru.Cache // *rate.Limiter by organization
	mutex                sync.Mutex // makes one pace for each
}

func newLimits(c *Config) *limits {
	return &limits{
		rate: rate.Limit(c.TenantQPS), burst: c.TenantBurst, paces: lru.New(tenantsRemembered),
		all:         &quota{each: c.Connections, used: map[string]int{}},
		connections: &quota{each: c.TenantConnections, used: map[string]int{}},
		watches:     &quota{each: c.TenantWatches, used: map[string]int{}},
	}
}

// call counts one.
func (l *limits) call(who caller) error {
	if who.operator {
		return nil
	}
	booked := l.pace(who.organization).Reserve()
	wait := booked.Delay()
	if wait == 0 {
		return nil
	}
	booked.Cancel()
	return tooMany("these are more calls than a tenant may make", wait)
}

func (l *limits) pace(organization string) *rate.Limiter {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if pace, found := l.paces.Get(organization); found {
		return pace.(*rate.Limiter)
	}
	pace := rate.NewLimiter(l.rate, l.burst)
	l.paces.Add(organization, pace)
	return pace
}

// quota is how many of something each tenant may have at a time.
type quota struct {
	each  int
	mutex sync.Mutex
	used  map[string]int
}

// take one. Whoever has got it gives it back.
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
		return nil, status.Error(codes.ResourceExhausted, "these are more connections than there may be")
	}
	own, ok := l.connections.take(who)
	if !ok {
		all()
		return nil, status.Error(codes.ResourceExhausted, "these are more connections than a tenant may have")
	}
	return func() { own(); all() }, nil
}

// limited credentials are those of connections that there is a number of. Only those count whose clients have shown who they
// are: the others are newcomers.
type limited struct {
	credentials.TransportCredentials
	tenancy   *Tenancy
	newcomers *newcomers
	limits    *limits
	metrics   *Metrics
}

// ServerHandshake implements credentials.TransportCredentials.
func (l *limited) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	connection, info, err := l.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		l.metrics.refuseHandshake(err)
		return nil, nil, err
	}
	l.newcomers.forget(raw)
	giveBack, err := l.admit(info)
	if err != nil {
		_ = connection.Close()
		return nil, nil, err
	}
	return &counted{connection, giveBack}, info, nil
}

func (l *limited) admit(info credentials.AuthInfo) (giveBack func(), err error) {
	who, err := l.tenancy.identify(info)
	if err != nil {
		l.metrics.refuse(refusedHandshake)
		return nil, err
	}
	if giveBack, err = l.limits.connect(who); err != nil {
		l.metrics.refuse(refusedConnections)
	}
	return giveBack, err
}

// Clone implements credentials.TransportCredentials.
func (l *limited) Clone() credentials.TransportCredentials { return l }

// counted is a connection that is given back.
type counted struct {
	net.Conn
	giveBack func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.giveBack()
	return c.Conn.Close()
}

// tooMany says when there may be another one.
func tooMany(message string, wait time.Duration) error {
	return failure{code: codes.ResourceExhausted, message: message, reason: "TOO_MANY_REQUESTS", retry: wait}.error()
}
