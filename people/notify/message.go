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

// MessagePurpose is the purpose from which the key ring derives the vault for messages
// (masterkey.Ring.Vault).
const MessagePurpose = "emails"

// Message is an email to one address. It is sent at once and never combined with others. Its text
// may contain a secret link, for example of an invitation.
type Message struct {
	To       string        `json:"to"`
	Language i18n.Language `json:"language"`
	Title    string        `json:"title"`
	Text     string        `json:"text"`
	// Until is the time when the link expires. A later attempt does not send the email. Zero means
	// that the email never expires.
	Until clock.Micros `json:"until,omitempty"`
}

// sealedMessage is the payload of the job. It is encrypted with the master key, and is deleted once
// the email was sent or the job failed for good.
type sealedMessage struct {
	Sealed string `json:"sealed"`
}

func messagePlace(organization int64) string {
	return strconv.FormatInt(organization, 10) + "|email"
}

// Send enqueues an email within the transaction. It holds the lock that orders the organization's
// jobs until the commit, so it must be called before db.Tx.Tick.
func (c *Center) Send(ctx context.Context, tx db.Tx, organization int64, m Message) error {
	plain, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sealed := sealedMessage{c.Vault.Seal(plain, messagePlace(organization))}
	return job.Enqueue(ctx, tx, organization, clock.Now(c.Clock), job.Spec{Kind: MessageKind, Payload: sealed})
}

// sendMessage sends the message of a job. The Message-ID is the id of the job.
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
	c.logSent(log, j.ID)
	return j.Finish(context.WithoutCancel(ctx), nil)
}

// open decrypts the message of a job.
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
