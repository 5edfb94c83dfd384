package shell

import (
	"kartei/api/op"
	"kartei/people/account"
)

// Own are the pages of the shell itself.
var Own = []Page{
	watching("/live", showLive),

	Private("GET", SettingsPath, op.List{account.GetSession}, showSettings),
}
