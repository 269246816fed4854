package client

import (
	"crypto/sha256"
	"fmt"

	"github.com/bedplate/bedplate/internal/credentials"
)

// Account of the client. It changes when the login does.
func (c *Client) Account() credentials.Account { return c.account }

func (c Config) account() credentials.Account {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q %q %q %q %q", c.Endpoint, c.Org, c.APIName, c.Token, c.CABundle) // can't fail
	if o := c.OAuth2; o != nil {
		_, _ = fmt.Fprintf(hash, " %q %q %q %q", o.TokenURL, o.ClientID, o.ClientSecret, o.Scopes)
	}
	return credentials.Account(hash.Sum(nil))
}
