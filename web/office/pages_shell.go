package office

import (
	"kartei/api/op"
	"kartei/people/account"
)

// Own are the pages of the shell itself.
var Own = []Page{
	watching("/live", showLive),

	private("GET", settingsPath, op.List{account.GetSession}, showSettings),
}
