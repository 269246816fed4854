package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
)

type balancerPatch struct {
	Name    *string       `json:"name"`
	Subnets []idReference `json:"subnets"`
}

// etag changes with what a client may have seen of a load balancer.
func (b *balancer) etag() string {
	seen := fmt.Sprint(b.name, b.busy.UnixNano())
	for _, s := range b.subnets {
		seen += s.id
	}
	sum := sha256.Sum256([]byte(seen))
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`
}

// updateBalancer replaces the subnets. A request with a list in it has to say what it is a change of.
func (r *vpcRegion) updateBalancer(call *call) (reply, error) {
	var request balancerPatch
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	b, err := r.toChange(call)
	if err != nil {
		return reply{}, err
	}
	changed := &balancer{}
	switch match := call.Header.Get("If-Match"); {
	case request.Name != nil || len(request.Subnets) == 0:
		return reply{}, refuse(http.StatusBadRequest, "bad_field", "the simulator changes the subnets of load balancers only")
	case match == "":
		return reply{}, refuse(http.StatusPreconditionRequired, "precondition_required", "The If-Match header is required to change a list.")
	case match != b.etag():
		return reply{}, refuse(http.StatusPreconditionFailed, "precondition_failed", "The load balancer is another one than If-Match says.")
	}
	if err := r.place(changed, balancerRequest{Subnets: request.Subnets}, call.now); err != nil {
		return reply{}, err
	}
	if changed.vpc != b.vpc {
		return reply{}, refuse(http.StatusBadRequest, "load_balancer_subnets_not_in_same_vpc", "The subnets must be in the same VPC.")
	}
	b.subnets = changed.subnets
	r.changed(b, call.now)
	return r.withETag(b, call)
}

// withETag answers with a load balancer.
func (r *vpcRegion) withETag(b *balancer, call *call) (reply, error) {
	return reply{status: http.StatusOK, header: http.Header{"Etag": {b.etag()}}, body: r.balancerView(b, call.now)}, nil
}
