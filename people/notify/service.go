package notify

import "kartei/api/op"

var (
	// Service provides the Center to operations.
	Service = op.Need[*Center]("notices")
	// Mails is true if emails are sent by a mail server.
	Mails = op.Need[bool]("mails")
)
