package graph

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/ledgers"
)

// tracer is the name of the tracer of the spans.
const tracer = "github.com/bedplate/bedplate/internal/graph"

// span begins one round of the graph. The calls that are made within it are its children. The returned function ends
// it.
func (g *Graph) span(ctx context.Context, doing string) (context.Context, func(error)) {
	kind := ledgers.KindOf(g.owner)
	ctx, span := otel.Tracer(tracer).Start(ctx, doing+" "+kind, trace.WithAttributes(
		attribute.String("bedplate.kind", kind),
		attribute.String("bedplate.object", client.ObjectKeyFromObject(g.owner).String())))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
