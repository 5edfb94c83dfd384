package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/store/db"
	"kartei/store/job"
)

// MessageKind is the kind of job that sends a Message.
const MessageKind = "emails.send"

// MessagePurpose derives the keys of the vault that seals messages
// (masterkey.Ring.Vault).
const MessagePurpose = "emails"

// Message is an email to one address. It is sent at once and never bundled. Its
// text may hold a secret link, for example an invitation.
type Message struct {
	To       string        `json:"to"`
	Language i18n.Language `json:"language"`
	Title    string        `json:"title"`
	Text     string        `json:"text"`
	// Until is when the link expires. After that the email is not sent. Zero
	// means never.
	Until clock.Micros `json:"until,omitempty"`
}

// sealedMessage is the payload of the job. Nobody can read it without the
// master key. It is deleted once the email is sent or given up.
type sealedMessage struct {
	Sealed string `json:"sealed"`
}

func messagePlace(organization int64) string {
	return strconv.FormatInt(organization, 10) + "|email"
}

// Send enqueues an email in the transaction that causes it. It holds the
// organization's turn until the commit, so it must be called before db.Tick.
func (c *Center) Send(ctx context.Context, tx db.Tx, organization int64, m Message) error {
	plain, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sealed := sealedMessage{c.Vault.Seal(plain, messagePlace(organization))}
	return job.Enqueue(ctx, tx, organization, clock.Now(c.Clock), job.Spec{Kind: MessageKind, Payload: sealed})
}

// sendMessage sends a message. Its Message-ID is the id of the job.
func (c *Center) sendMessage(ctx context.Context, j *job.Job) error {
	m, err := c.open(j)
	if err != nil {
		return job.Permanent(err)
	}
	log := c.Logger.With(slog.String("job", j.ID), slog.Int("try", j.Attempt))
	if m.Until > 0 && clock.Now(c.Clock) >= m.Until {
		log.Info("email dropped", "reason", "its link has expired")
		return nil
	}
	msg, err := c.envelope(m.To, m.Language, j.ID, m.Title, m.Text+"\n\n-- \n"+c.BaseURL)
	if err != nil {
		return job.Permanent(errors.New("the address is not valid for emails"))
	}
	if err := c.Sender.Send(ctx, j.ID, msg); err != nil {
		log.Warn("email not sent", "reason", reason(err))
		return errors.New("email not sent: " + reason(err))
	}
	log.Info("email sent")
	return j.Finish(context.WithoutCancel(ctx), nil)
}

// open opens the sealed message of a job.
func (c *Center) open(j *job.Job) (m Message, err error) {
	var sealed sealedMessage
	if err := j.Decode(&sealed); err != nil {
		return m, err
	}
	plain, _, err := c.Vault.Open(sealed.Sealed, messagePlace(j.Organization))
	if err != nil {
		return m, errors.New("the email was sealed under an unknown master key; name it with --previous-master-key-files")
	}
	return m, json.Unmarshal(plain, &m)
}
