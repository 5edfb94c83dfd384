package oauth

import (
	"context"
	"encoding/json"

	"kartei/access"
	"kartei/access/grant"
	"kartei/app"
	"kartei/kit/fault"
	"kartei/notify"
	"kartei/store/db"
)

// TokenReused is the kind of notice that tells of a code or a refresh token that somebody
// used twice, so its grant was ended.
const TokenReused notify.Kind = "token_reused"

// ReuseFacts are the data of a notice about a grant.
type ReuseFacts struct {
	Grant string `json:"grantId"`
}

// Forms holds the forms of notices about applications.
var Forms = map[notify.Kind]notify.Form{TokenReused: {
	Words: func(ctx context.Context, tx db.Tx, data []byte) (notify.Words, error) {
		var f ReuseFacts
		if err := json.Unmarshal(data, &f); err != nil {
			return notify.Words{}, err
		}
		label, err := access.LabelIn(ctx, tx, f.Grant)
		return reuseWords(label), err
	},
	Mail: func([]byte) (notify.Words, error) { return reuseWords(access.Label{}), nil },
	Page: func(string, []byte) (notify.Page, error) {
		return notify.Page{Path: "/settings/interfaces/applications", Name: fault.Text{DE: "Verbundene Anwendungen ansehen", EN: "View the connected applications"}}, nil
	},
	Farewell: fault.Text{
		DE: "Diese E-Mail ging an die Person, für die die Anwendung handelte, und an die Administration der Organisation.",
		EN: "This email went to the person for whom the application acted, and to the admins of the organization.",
	},
}}

func reuseWords(l access.Label) notify.Words {
	de, en := "Eine verbundene Anwendung", "A connected application"
	if l.Name != "" {
		de, en = "Die Anwendung „"+l.Name+"“", "The application “"+l.Name+"”"
	}
	return notify.Words{
		Title: fault.Text{DE: de + " wurde getrennt", EN: en + " was disconnected"},
		Text: fault.Text{
			DE: de + " hat ein Token vorgelegt, das schon verbraucht war. Vielleicht hat es jemand gestohlen. Die Verbindung wurde deshalb beendet; die Anwendung kann neu verbunden werden. Sehen Sie nach, was zuletzt geändert wurde und welche Webhooks eingerichtet sind.",
			EN: en + " showed a token that was used up. Somebody may have stolen it. So the connection was ended; the application can be connected again. Check what was changed lately, and which webhooks are set up.",
		},
	}
}

// tellReuse tells the principal of a grant that it ended, and the admins.
func tellReuse(ctx context.Context, c *app.Call, g *grant.Grant) error {
	center := c.Services.Settings.Notices
	if center == nil {
		return nil
	}
	live, users, err := access.Audience(ctx, c.Tx, g.Organization, g.Principal)
	if err != nil {
		return err
	}
	return center.Post(ctx, c.Tx, live, users, TokenReused, ReuseFacts{g.ID})
}
