package providerdata

import "sync"

// Claims records who claims which name or address in this process, so that two
// owners are found while planning.
type Claims struct {
	mu     sync.Mutex
	owners map[claim]string
}

type claim struct{ kind, key string }

func newClaims() *Claims { return &Claims{owners: map[claim]string{}} }

// Claim records owner for key, within kind ("mac", "vm"). It reports false and
// the other owner when somebody else holds it. Claiming twice as the same
// owner is fine.
func (c *Claims) Claim(kind, key, owner string) (other string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := claim{kind, key}
	if holder, held := c.owners[k]; held && holder != owner {
		return holder, false
	}
	c.owners[k] = owner
	return "", true
}

// Release gives up what owner holds; what another holds stays.
func (c *Claims) Release(kind, key, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := (claim{kind, key}); c.owners[k] == owner {
		delete(c.owners, k)
	}
}
