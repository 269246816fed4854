package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/credentials"
)

// Users are the kinds that log in with Secrets, and the ledgers of what was made with them: in their own namespace, those of Global kinds
// in the given one, unless that is empty: then these kinds aren't used.
func Users(globalNamespace string) []credentials.Users {
	secretOf := func(ref func(client.Object) krakev1.SecretReference) func(client.Object) types.NamespacedName {
		return func(o client.Object) types.NamespacedName {
			name := types.NamespacedName{Namespace: o.GetNamespace(), Name: ref(o).Name}
			if name.Namespace == "" {
				name.Namespace = globalNamespace
			}
			return name
		}
	}
	ofCloud := secretOf(func(o client.Object) krakev1.SecretReference { return o.(krakev1.AnyCloud).Described().SecretRef() })
	all := []credentials.Users{
		{Kind: &krakev1.Cloud{}, List: &krakev1.CloudList{}, Title: "Clouds", SecretOf: ofCloud},
		{Kind: &krakev1.GlobalCloud{}, List: &krakev1.GlobalCloudList{}, Title: "GlobalClouds", SecretOf: ofCloud},
		{
			Kind: &krakev1.InfrastructureProvider{}, List: &krakev1.InfrastructureProviderList{}, Title: "InfrastructureProviders",
			SecretOf: secretOf(func(o client.Object) krakev1.SecretReference {
				return o.(*krakev1.InfrastructureProvider).Spec.IM.SecretRef
			}),
		},
		{
			Kind: &krakev1.GlobalInfrastructureProvider{}, List: &krakev1.GlobalInfrastructureProviderList{}, Title: "GlobalInfrastructureProviders",
			SecretOf: secretOf(func(o client.Object) krakev1.SecretReference {
				return o.(*krakev1.GlobalInfrastructureProvider).Spec.IM.SecretRef
			}),
		},
		{Kind: &ledgerv1.Ledger{}, List: &ledgerv1.LedgerList{}, Title: "Ledgers", SecretOf: loginOf},
	}
	if globalNamespace == "" {
		all = slices.DeleteFunc(all, func(u credentials.Users) bool { return strings.HasPrefix(u.Title, "Global") })
	}
	return all
}

// loginOf what a ledger has: its cloud may be another provider's by now, and no other user of IM sees what was made.
func loginOf(o client.Object) (login types.NamespacedName) {
	spec := o.(*ledgerv1.Ledger).Spec
	if len(spec.Credentials) > 0 && slices.ContainsFunc(spec.Entries, func(e ledgerv1.Entry) bool { return e.Owned() }) {
		login.Namespace, login.Name, _ = strings.Cut(spec.Credentials[0], "/")
	}
	return login
}

func setupSecrets(ctx context.Context, mgr ctrl.Manager, config Config) (*credentials.Guard, error) {
	all := Users(config.GlobalNamespace)
	var failed []error
	for _, users := range all {
		failed = append(failed, users.Index(ctx, mgr.GetFieldIndexer()))
	}
	guard := &credentials.Guard{
		Client: mgr.GetClient(), Metadata: mgr.GetCache(), Live: mgr.GetAPIReader(), Finalizer: SecretFinalizer, Others: all[1:],
		InUse: func(ctx context.Context, secret types.NamespacedName) (bool, error) {
			for _, users := range all {
				if used, err := users.InUse(mgr.GetClient())(ctx, secret); used || err != nil {
					return used, err
				}
			}
			return false, nil
		},
	}
	failed = append(failed, guard.SetupWithManager(mgr, all[0].Kind, all[0].SecretOf, config.Options))
	if err := errors.Join(failed...); err != nil {
		return nil, fmt.Errorf("set up the guard of Secrets: %w", err)
	}
	return guard, nil
}
