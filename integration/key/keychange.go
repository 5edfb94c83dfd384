package key

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"kartei/api/op"
	"kartei/kit/input"
	"kartei/store/db"
)

// Change is the input of Update. A member that is nil or zero keeps its value.
type Change struct {
	ID   string  `json:"id"`
	Name *string `json:"name,omitempty"`
	// Networks are the new networks of the key. The rules of New apply.
	Networks *[]string `json:"networks,omitempty"`
	// ExpiresIn is the new lifetime from now.
	ExpiresIn time.Duration `json:"expiresIn,omitempty"`
	// VersionPin is the new version of the API on which the key stays.
	VersionPin string `json:"versionPin,omitempty"`
}

const updateKeySettings = `update api_keys set name = $2, networks = $3, expires_at = $4, version_pin = $5 where id = $1`

// Update is the operation that changes the name, the networks, the expiry and the version pin of a
// key. The secret and the scopes cannot change. If the key then works from more networks or for
// longer, Update needs a recent sign-in.
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
	return Read(ctx, c, op.ByID{ID: k.ID})
}

// widens reports whether a key works from more networks or for longer than before. A key without
// networks works from all networks.
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
