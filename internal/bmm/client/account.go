package client

import (
	"crypto/sha256"
	"fmt"
)

// Account identifies a login at a server: clients of the same account get the same answers, whichever Secrets they come
// from.
type Account [sha256.Size]byte

// Account of the client. It changes when the login does.
func (c *Client) Account() Account { return c.account }

func (c Config) account() Account {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q %q %q %q %q", c.Endpoint, c.Org, c.APIName, c.Token, c.CABundle) // can't fail
	if o := c.OAuth2; o != nil {
		_, _ = fmt.Fprintf(hash, " %q %q %q %q", o.TokenURL, o.ClientID, o.ClientSecret, o.Scopes)
	}
	return Account(hash.Sum(nil))
}
