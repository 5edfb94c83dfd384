package notify

import "kartei/api/op"

var (
	// Service posts and reads notices for people.
	Service = op.Need[*Center]("notices")
	// Mails is true if a mail server sends emails.
	Mails = op.Need[bool]("mails")
)
