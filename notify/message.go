package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
	"kartei/work/job"
)

// MessageKind is the kind of job that sends a Message.
const MessageKind = "emails.send"

// MessagePurpose is what the keys of the vault are derived for that seals
// messages (masterkey.Ring.Vault).
const MessagePurpose = "emails"

// Message is an email to one address, which is sent at once and never bundled.
// Its text may hold a secret link, such as that of an invitation.
type Message struct {
	To       string         `json:"to"`
	Language fault.Language `json:"language"`
	Title    string         `json:"title"`
	Text     string         `json:"text"`
	// Until is when the link ends; then the email is sent no more. Zero is never.
	Until clock.Micros `json:"until,omitempty"`
}

// sealedMessage is the payload of its job: nobody can read it without the master
// key, and it is deleted with the job once the email is sent or given up.
type sealedMessage struct {
	Sealed string `json:"sealed"`
}

func messagePlace(organization int64) string {
	return strconv.FormatInt(organization, 10) + "|email"
}

// Send enqueues an email as part of the transaction that causes it. It holds
// the organization's turn until the commit, so call it before db.Tick.
func (c *Center) Send(ctx context.Context, tx db.Tx, organization int64, m Message) error {
	plain, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sealed := sealedMessage{c.Vault.Seal(plain, messagePlace(organization))}
	return job.Enqueue(ctx, tx, organization, clock.Now(c.Clock), job.Spec{Kind: MessageKind, Payload: sealed})
}

// sendMessage hands a message over. Its Message-ID is the job's id.
func (c *Center) sendMessage(ctx context.Context, j *job.Job) error {
	m, err := c.open(j)
	if err != nil {
		return job.Permanent(err)
	}
	log := c.Logger.With(slog.String("job", j.ID), slog.Int("try", j.Attempt))
	if m.Until > 0 && clock.Now(c.Clock) >= m.Until {
		log.Info("email dropped", "reason", "its link has ended")
		return nil
	}
	msg, err := c.envelope(m.To, m.Language, j.ID, m.Title, m.Text+"\n\n-- \n"+c.BaseURL)
	if err != nil {
		return job.Permanent(errors.New("the address cannot be written to"))
	}
	if err := c.Sender.Send(ctx, j.ID, msg); err != nil {
		log.Warn("email not sent", "reason", reason(err))
		return errors.New("email not sent: " + reason(err))
	}
	log.Info("email sent")
	return j.Finish(context.WithoutCancel(ctx), nil)
}

// open opens the message of a job.
func (c *Center) open(j *job.Job) (m Message, err error) {
	var sealed sealedMessage
	if err := j.Decode(&sealed); err != nil {
		return m, err
	}
	plain, _, err := c.Vault.Open(sealed.Sealed, messagePlace(j.Organization))
	if err != nil {
		return m, errors.New("the email was sealed under a master key that is not known")
	}
	return m, json.Unmarshal(plain, &m)
}
