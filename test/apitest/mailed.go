package apitest

import (
	"context"
	"fmt"
	"regexp"

	"kartei/api"
	"kartei/people/notify"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
)

// Mailed returns the emails in the queue, the oldest first.
func (o *Office) Mailed() (mails []notify.Message) {
	o.Helper()
	vault := Keys.Vault(notify.MessagePurpose)
	err := o.DB.Read(context.Background(), func(tx db.Tx) error {
		_, err := db.List(context.Background(), tx, func(row db.Row) (none struct{}, err error) {
			var organization int64
			var payload string
			var sealed struct {
				Sealed string `json:"sealed"`
			}
			if err = row.Scan(&organization, &payload); err != nil {
				return none, err
			}
			if err = json.Unmarshal([]byte(payload), &sealed); err != nil {
				return none, err
			}
			plain, _, err := vault.Open(sealed.Sealed, fmt.Sprintf("%d|email", organization))
			var m notify.Message
			if err == nil {
				err = json.Unmarshal(plain, &m)
			}
			mails = append(mails, m)
			return none, err
		}, `select organization, payload from jobs where kind = $1 order by id`, notify.MessageKind)
		return err
	})
	if err != nil {
		o.Fatal(err)
	}
	return mails
}

var link = regexp.MustCompile(`https://\S+#(\S+)`)

// Linked returns the token in the link of the newest email to an address. It fails the test if
// there is no such email.
func (o *Office) Linked(email string) (token string) {
	o.Helper()
	for _, m := range o.Mailed() {
		if found := link.FindStringSubmatch(m.Text); m.To == email && m.Until != 1 && found != nil {
			token = found[1]
		}
	}
	if token == "" {
		o.Fatalf("no link was mailed to %s", email)
	}
	return token
}

// Notices returns a notification center on the database of the office.
func (o *Office) Notices() *notify.Center {
	return notify.New(notify.Options{
		DB: o.DB, Clock: o.Clock, Forms: api.NoticeForms(), Vault: Keys.Vault(notify.MessagePurpose),
	})
}
