package key

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/input"
	"kartei/store/db"
)

// Change is the input of Update; nil or zero keeps a value.
type Change struct {
	ID   string  `json:"id"`
	Name *string `json:"name,omitempty"`
	// Networks replaces the networks of the key, by the rules of New.
	Networks *[]string `json:"networks,omitempty"`
	// ExpiresIn is the lifetime from now.
	ExpiresIn time.Duration `json:"expiresIn,omitempty"`
	// VersionPin is a version of the API.
	VersionPin string `json:"versionPin,omitempty"`
}

const updateKeySettings = `update api_keys set name = $2, networks = $3, expires_at = $4, version_pin = $5 where id = $1`

// Update changes the name of a key, its networks, its expiry and its version
// pin. The secret and the scopes stay: the scopes are fixed at the creation. A change
// after which the key works from more networks or for longer asks for a recent sign-in.
var Update = op.New("keys.update", op.Administer, edit, op.By(op.Self|op.Operator), op.Gives, op.Audited("key.update"))

func edit(ctx context.Context, c *op.Call, in Change) (Info, error) {
	k, err := findToChange(ctx, c, in.ID)
	if err != nil {
		return Info{}, err
	}
	var f input.Faults
	before := k
	if in.Name != nil {
		if k.Name = ""; *in.Name != "" {
			k.Name = f.Name("name", *in.Name)
		}
	}
	if in.Networks != nil {
		k.Networks = networksOf(&f, "networks", *in.Networks)
		bound(&f, *in.Networks, k.Scopes)
	}
	if in.ExpiresIn != 0 {
		k.ExpiresAt = c.Now.Add(lifetime(&f, in.ExpiresIn, 0))
	}
	if in.VersionPin != "" {
		input.OneOf(&f, "versionPin", in.VersionPin, c.Services.Versions...)
		k.VersionPin = in.VersionPin
	}
	if err := f.Err(); err != nil {
		return Info{}, err
	}
	if _, err := c.Tx.Exec(ctx, updateKeySettings, k.ID, k.Name, db.JSON(k.Networks), int64(k.ExpiresAt),
		k.VersionPin); err != nil {
		return Info{}, err
	}
	if widens(before, k) {
		if err := c.Gives(ctx, gainOf(op.KeyWidened, k.organization, k.ID, k.PrincipalID)); err != nil {
			return Info{}, err
		}
	}
	k.Status = k.statusAt(c.Now)
	note(c, before, k)
	return Read(ctx, c, access.ByID{ID: k.ID})
}

// widens reports whether a key works from more networks than before, or for longer. A key
// without networks works from everywhere.
func widens(before, after Info) bool {
	if after.ExpiresAt > before.ExpiresAt {
		return true
	}
	if len(before.Networks) == 0 {
		return false
	}
	within := func(net netip.Prefix) bool {
		return slices.ContainsFunc(before.Networks,
			func(old netip.Prefix) bool { return old.Bits() <= net.Bits() && old.Contains(net.Addr()) })
	}
	return len(after.Networks) == 0 || slices.ContainsFunc(after.Networks,
		func(net netip.Prefix) bool { return !within(net) })
}
