// Package tasks owns the pages of tasks.
package tasks

import (
	"kartei/api/op"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/web/records"
	"kartei/web/shell"
)

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/tasks", op.List{task.List, task.Count, task.Get, principal.FindNames}.And(records.ListOps), showTasks),
	shell.Inside("GET", "/tasks/line", op.List{task.Create, lookup.Find}, showLine),
	shell.Inside("GET", "/tasks/due", nil, showDue),
	shell.Inside("POST", "/tasks/line", op.List{task.Create, task.List, task.Count, principal.ResolveNames, lookup.Titles, lookup.Find}, createByLine),
	shell.Inside("GET", "/tasks/new", op.List{task.Create}.And(records.ListOps), records.ShowForm(&records.Tasks)),
	shell.Inside("POST", "/tasks/new", op.List{task.Create}.And(records.FormOps), records.CreateRecord(&records.Tasks)),
	shell.Inside("GET", "/tasks/{id}", op.List{task.Get, task.Count}.And(records.RecordOps), records.Show(&records.Tasks, records.PageView, nil)),
	shell.Inside("GET", "/tasks/{id}/edit", op.List{task.Update, task.Get}.And(records.ListOps), records.ShowForm(&records.Tasks)),
	shell.Inside("POST", "/tasks/{id}", op.List{task.Update, task.Get, lookup.History}.And(records.FormOps), records.SaveRecord(&records.Tasks)),
	shell.Inside("POST", "/tasks/{id}/complete", op.List{task.Complete, lookup.Titles}, completeTask),
	shell.Inside("POST", "/tasks/{id}/reopen", op.List{task.Update, task.Get, lookup.Titles}, reopenTask),
	shell.Inside("POST", "/tasks/{id}/delete", op.List{task.Delete}, records.DeleteRecord(&records.Tasks)),
}
