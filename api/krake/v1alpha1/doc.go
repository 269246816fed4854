// Package v1alpha1 holds what a user writes to get a whole cluster on the best matching cloud: Cluster, Cloud, InfrastructureProvider,
// Metric, MetricsProvider and CloudBinding. All but Cluster and CloudBinding exist as Global kinds, too, which belong to no namespace.
//
// Kinds, fields, states and reasons are those of Krake; names of fields are in camel case, and logins are in Secrets.
//
// +kubebuilder:object:generate=true
// +groupName=krake.bedplate.dev
package v1alpha1
