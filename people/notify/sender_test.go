package notify_test

import "github.com/wneessen/go-mail"

type notifyMessage = *mail.Msg
