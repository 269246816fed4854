package testenv

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Indexed lets a client of objects in memory find them by the fields that a manager's cache indexes, so that no test has an index of
// its own, which may find less.
func Indexed(
	t testing.TB, builder *fake.ClientBuilder, index func(context.Context, client.FieldIndexer) error,
) *fake.ClientBuilder {
	t.Helper()
	NewWithT(t).Expect(index(t.Context(), indexer{builder})).To(Succeed())
	return builder
}

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(object, field, values)
	return nil
}
