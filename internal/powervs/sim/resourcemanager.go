package sim

import "net/http"

// ResourceManager has the resource groups of the account.
func (c *Cloud) ResourceManager() http.Handler { return c.manager }

func (c *Cloud) newResourceManager() *service {
	s := newService(c, "resourcemanager", failWithList)
	s.handle("listResourceGroups", "GET /v2/resource_groups", c.listResourceGroups)
	s.handle("getResourceGroup", "GET /v2/resource_groups/{id}", c.getResourceGroup)
	return s
}

func (c *Cloud) listResourceGroups(r *call) (reply, error) {
	if account := r.query("account_id"); account != "" && account != c.config.Account {
		return reply{}, refuse(http.StatusForbidden, "forbidden", "You are not authorized to use account %s.", account)
	}
	found := []any{}
	for _, g := range c.config.ResourceGroups {
		if name := r.query("name"); name == "" || name == g.Name {
			found = append(found, c.resourceGroupView(g))
		}
	}
	return ok(map[string]any{"resources": found})
}

func (c *Cloud) getResourceGroup(r *call) (reply, error) {
	g, found := c.config.resourceGroup(r.PathValue("id"))
	if !found {
		return reply{}, refuse(http.StatusNotFound, "not_found", "Resource group with id %s is not found.", r.PathValue("id"))
	}
	return ok(c.resourceGroupView(g))
}

func (c *Cloud) resourceGroupView(g ResourceGroup) any {
	return map[string]any{
		"id": g.ID, "crn": c.groupCRN(g.ID), "account_id": c.config.Account,
		"name": g.Name, "state": "ACTIVE", "default": g.Default,
	}
}

func (c *Cloud) groupCRN(id string) string {
	return c.crn("resource-controller", "", "", "resource-group", id)
}
