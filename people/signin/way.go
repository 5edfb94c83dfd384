package signin

import (
	"context"
	"encoding/json"

	"kartei/kit/clock"
	"kartei/people/sso"
	"kartei/store/db"
)

// Way is a person on the way to the OpenID provider and back. No row is stored for it
// until the person is back. It travels sealed in a cookie, so only the browser that
// left comes back by it.
type Way struct {
	Asked sso.AuthRequest `json:"asked"`
	Until clock.Micros    `json:"until"`
	// Next is the page that is opened afterwards.
	Next string `json:"next,omitempty"`
	// Account is the one that is linked, or whose sign-in is confirmed.
	Account string `json:"account,omitempty"`
	// Invitation is the token of the invitation that is accepted, and Name the name
	// that the person gave.
	Invitation string `json:"invitation,omitempty"`
	Name       string `json:"name,omitempty"`
}

// SealWay returns the text of a way that begins.
func (d *Desk) SealWay(now clock.Micros, kind Kind, w Way) (string, error) {
	w.Until = now.Add(PageLifetime)
	text, err := json.Marshal(w)
	return d.Secrets.Seal(text, string(kind)), err
}

// OpenWay returns the way of a text. One that is forged, that has expired or that is
// of another kind is db.ErrNoRows.
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

// UseWay consumes a sign-in that a provider answered: its state can be used once. Of two
// calls at the same time, one succeeds.
func UseWay(ctx context.Context, tx db.Tx, now clock.Micros, kind Kind, w Way) error {
	return useOnce(ctx, tx, now, kind, w.Asked.State)
}
