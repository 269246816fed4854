package client

// Services are how many are kept.
func (c *Client) Services() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.services)
}
