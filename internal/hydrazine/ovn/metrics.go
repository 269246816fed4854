package ovn

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	transactions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "bedplate_hydrazine_ovn_transactions_total",
		Help: "Transactions with OVN's databases, by outcome.",
	}, []string{"database", "outcome"})

	operationsDone = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "bedplate_hydrazine_ovn_operations_total",
		Help: "Operations of transactions with OVN's databases that succeeded.",
	}, []string{"database"})

	transactionDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bedplate_hydrazine_ovn_transaction_duration_seconds",
		Help:    "How long transactions with OVN's databases took, until the copy in memory has what they have done.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"database"})
)

func init() { metrics.Registry.MustRegister(transactions, operationsDone, transactionDuration) }

// observe a transaction that has ended. The database has its name in OVSDB, such as OVN_Northbound.
func observe(database string, operations int, took time.Duration, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	} else {
		operationsDone.WithLabelValues(database).Add(float64(operations))
	}
	transactions.WithLabelValues(database, outcome).Inc()
	transactionDuration.WithLabelValues(database).Observe(took.Seconds())
}
