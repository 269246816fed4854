package sim

import (
	"context"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// GetMetadata implements the API.
func (s *Server) GetMetadata(context.Context, gen.GetMetadataRequestObject) (gen.GetMetadataResponseObject, error) {
	return gen.GetMetadata200JSONResponse{
		Version: s.dialect().version, BuildTime: s.state.started.UTC().Format(time.RFC3339),
	}, nil
}

// GetCurrentServiceAccount implements the API. It creates provider and tenant, for an account that is both.
func (s *Server) GetCurrentServiceAccount(
	ctx context.Context, _ gen.GetCurrentServiceAccountRequestObject,
) (gen.GetCurrentServiceAccountResponseObject, error) {
	if !has(ctx, ProviderAdmin) || !has(ctx, TenantAdmin) {
		return gen.GetCurrentServiceAccount200JSONResponse{Enabled: false}, nil
	}
	s.view(func(time.Time) { s.state.tenantKnown = true })
	return gen.GetCurrentServiceAccount200JSONResponse{
		Enabled: true, InfrastructureProviderID: s.config.ProviderID, TenantID: s.config.Tenant.ID,
	}, nil
}

// GetCurrentTenant implements the API. It creates the tenant.
func (s *Server) GetCurrentTenant(
	context.Context, gen.GetCurrentTenantRequestObject,
) (gen.GetCurrentTenantResponseObject, error) {
	s.view(func(time.Time) { s.state.tenantKnown = true })
	tenant := s.config.Tenant
	return gen.GetCurrentTenant200JSONResponse{
		ID: tenant.ID, Org: s.config.Org, OrgDisplayName: tenant.Name,
		Capabilities: api.TenantCapabilities{TargetedInstanceCreation: tenant.TargetedInstanceCreation},
	}, nil
}
