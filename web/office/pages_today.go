package office

import (
	"kartei/api/op"
	"kartei/people/account"
	"kartei/people/settings"
	"kartei/record"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/record/task"
)

// todayPages are the pages of this room.
var todayPages = []Page{
	inside("GET", "/", op.List{account.GetSession, task.List, task.Get, record.Changes, settings.ListBell, lookup.Recent, contact.Count}.And(listOps), showToday),
	inside("GET", "/bell", op.List{settings.ListBell, lookup.Titles}, showBell),
	inside("POST", "/bell", op.List{settings.ReadBell}, readBell),

	inside("GET", "/help", nil, showHelp),
	inside("POST", "/help", op.List{account.SetProfile}, switchKeys),
	inside("POST", "/theme", op.List{account.SetProfile}, switchTheme),
}
