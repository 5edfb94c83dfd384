package office

import (
	"kartei/api/op"
	"kartei/people/settings"
	"kartei/record"
	"kartei/record/lookup"
	"kartei/record/task"
)

// tasksPages are the pages of this room.
var tasksPages = []Page{
	inside("GET", "/tasks", op.List{task.List, task.Count, task.Get, settings.FindNames}.And(listOps), showTasks),
	inside("GET", "/tasks/line", op.List{task.Create, lookup.Find}, showLine),
	inside("GET", "/tasks/due", nil, showDue),
	inside("POST", "/tasks/line", op.List{task.Create, task.List, task.Count, settings.ResolveNames, lookup.Titles, lookup.Find}, createByLine),
	inside("GET", "/tasks/new", op.List{task.Create}.And(listOps), showForm(&tasks)),
	inside("POST", "/tasks/new", op.List{task.Create}.And(formOps), createRecord(&tasks)),
	inside("GET", "/tasks/{id}", op.List{task.Get, task.Count}.And(recordOps), showRecord(&tasks, recordView, nil)),
	inside("GET", "/tasks/{id}/edit", op.List{task.Update, task.Get}.And(listOps), showForm(&tasks)),
	inside("POST", "/tasks/{id}", op.List{task.Update, task.Get, record.History}.And(formOps), saveRecord(&tasks)),
	inside("POST", "/tasks/{id}/complete", op.List{task.Complete, lookup.Titles}, completeTask),
	inside("POST", "/tasks/{id}/reopen", op.List{task.Update, task.Get, lookup.Titles}, reopenTask),
	inside("POST", "/tasks/{id}/delete", op.List{task.Delete}, deleteRecord(&tasks)),
}
