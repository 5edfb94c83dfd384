package signin

import (
	"context"
	"encoding/json"

	"kartei/kit/clock"
	"kartei/people/sso"
	"kartei/store/db"
)

// Way is the state of a person who is redirected to the OpenID provider and back. It is not stored
// before the person returns. An encrypted cookie has it, so only the same browser can return.
type Way struct {
	Asked sso.AuthRequest `json:"asked"`
	Until clock.Micros    `json:"until"`
	// Next is the page that is opened afterwards.
	Next string `json:"next,omitempty"`
	// Account is the id of the account that is linked, or whose sign-in is confirmed.
	Account string `json:"account,omitempty"`
	// Invitation is the token of the invitation that is accepted. Name is the name that the person
	// gave.
	Invitation string `json:"invitation,omitempty"`
	Name       string `json:"name,omitempty"`
}

// SealWay returns the encrypted text of a new Way.
func (d *Desk) SealWay(now clock.Micros, kind Kind, w Way) (string, error) {
	w.Until = now.Add(PageLifetime)
	text, err := json.Marshal(w)
	return d.Secrets.Seal(text, string(kind)), err
}

// OpenWay decrypts a Way. It fails with db.ErrNoRows if the text is forged, has expired or has
// another kind.
func (d *Desk) OpenWay(now clock.Micros, kind Kind, text string) (w Way, err error) {
	plain, _, err := d.Secrets.Open(text, string(kind))
	if err == nil {
		err = json.Unmarshal(plain, &w)
	}
	if err != nil || now >= w.Until {
		return Way{}, db.ErrNoRows
	}
	return w, nil
}

// UseWay marks the state parameter of a Way as used. It fails with db.ErrNoRows if the state was
// already used. So only one of two concurrent calls succeeds.
func UseWay(ctx context.Context, tx db.Tx, now clock.Micros, kind Kind, w Way) error {
	return useOnce(ctx, tx, now, kind, w.Asked.State)
}
