// Package config tests the manifests of the systems whose managers create infrastructure, which have the same parts, and share an API server here.
package config_test

import (
	"path/filepath"
	"testing"
	"time"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	powervsv1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	bmmcluster "github.com/bedplate/bedplate/internal/bmm/cluster"
	krakeguard "github.com/bedplate/bedplate/internal/krake/guard"
	"github.com/bedplate/bedplate/internal/krake/im"
	krakewebhook "github.com/bedplate/bedplate/internal/krake/webhook"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	powervscluster "github.com/bedplate/bedplate/internal/powervs/cluster"
	powervswebhook "github.com/bedplate/bedplate/internal/powervs/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

// The webhooks are those of the managers of PowerVS and Krake without flags.
func TestMain(m *testing.M) {
	testenv.Main(m, powervswebhook.Features{}.SetupWithManager, krakewebhook.Options{}.SetupWithManager)
}

// provider is a system whose manager creates infrastructure, with a folder of its name.
type provider struct {
	name string
	// ledgers is the API group of its ledgers.
	ledgers string
	// finalizer of the Secrets that it logs in with.
	finalizer string
	// kinds are those of its API, ledgers included; webhooks those that it is asked about.
	kinds, webhooks int
	// call is how long one may take.
	call time.Duration
}

var providers = []provider{
	{
		name: "bmm", ledgers: ledgerv1.GroupBMM, finalizer: bmmcluster.SecretFinalizer, kinds: 5, webhooks: 3, call: bmm.DefaultTimeout,
	},
	{
		name: "powervs", ledgers: powervsv1.LedgerGroup, finalizer: powervscluster.SecretFinalizer, kinds: 6, webhooks: 5, call: ibm.DefaultTimeout,
	},
	{
		name: "krake", ledgers: krakev1.LedgerGroup, finalizer: krakeguard.SecretFinalizer, kinds: 11, webhooks: 3, call: im.DefaultTimeout,
	},
}

// each runs a test of each provider.
func each(t *testing.T, test func(t *testing.T, p provider)) {
	t.Parallel()
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// prefix of its objects' names.
func (p provider) prefix() string { return "bedplate-" + p.name }

func (p provider) folder(name string) string { return filepath.Join(p.name, name) }
