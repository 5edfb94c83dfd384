package merge_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/merge"
)

// TestModel merges contacts to which many tasks refer. Between any two transactions of the job, the
// process ends, a person changes a reference, undoes the merge, merges on, or deletes the record that
// stayed. At the end, each task refers to the right record.
func TestModel(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		f := new(apitest.Faults)
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Faulty(f), apitest.Versions(release.Versions...))
		person := sit(o, access.Member)
		for seed := range uint64(12) {
			m := &model{desk: person, random: rand.New(rand.NewPCG(seed, 2)), refers: map[string]string{}}
			m.run(t, seed, f)
		}
	})
}

// model is what the test knows about the records of one merge.
type model struct {
	desk
	random *rand.Rand
	// refers is the contact to which each task should refer.
	refers map[string]string
	tasks  []string
	// contacts are the contact that stays, the one that goes, and a third one.
	contacts [3]string
}

func (m *model) run(t *testing.T, seed uint64, f *apitest.Faults) {
	t.Helper()
	for i := range m.contacts {
		m.contacts[i] = m.create("contacts", fmt.Sprintf(`{"lastName":"Berg %d","email":"%d@berg.example"}`, i, i))
	}
	into, from := m.contacts[0], m.contacts[1]
	for i := range 70 {
		to := from
		if i%10 == 9 {
			to = m.contacts[2*m.random.IntN(2)]
		}
		name := m.create("tasks", fmt.Sprintf(`{"title":"%d","contactId":%q}`, i, to))
		m.tasks, m.refers[name] = append(m.tasks, name), to
	}
	step := 1 + m.random.IntN(4)
	kind := m.random.IntN(5)
	said := fmt.Sprintf("seed %d: %d at step %d", seed, kind, step)
	switch kind {
	case 0:
		f.Arm(step, func(commit func() error) error { return apitest.ErrStep })
	case 1:
		f.Arm(step, func(commit func() error) error {
			_ = commit()
			return apitest.ErrStep
		})
	case 2:
		f.Before(step, func() { m.change(m.tasks[m.random.IntN(70)]) })
	case 3:
		f.Before(step, func() { m.undo() })
	case 4:
		f.Before(step, func() {
			m.Do("DELETE", path(into), nil, "If-Match", "*").Want(204)
			m.pass(into, "")
		})
	}
	m.pass(from, into)
	accepted := m.order(into, from).Want(202)
	m.Recover()
	if got := m.Do("GET", "/operations/"+accepted.Text("id"), nil).Text("status"); got != "succeeded" {
		t.Errorf("%s: the operation %s", said, got)
	}
	m.check(t, said)
	if kind < 3 {
		f.Arm(1+m.random.IntN(3), func(func() error) error { return apitest.ErrStep })
		m.undo()
		m.Recover()
		m.check(t, said+", undone")
	}
}

// pass says that all references to a contact pass to another one.
func (m *model) pass(from, to string) {
	for task, name := range m.refers {
		if name == from {
			m.refers[task] = to
		}
	}
}

// change sets the reference of a task.
func (m *model) change(task string) {
	to := m.contacts[2]
	tag := m.Do("GET", path(task), nil).Header.Get("ETag")
	m.Do("PATCH", path(task), fmt.Sprintf(`{"contactId":%q}`, to), "If-Match", tag).Want(200)
	m.refers[task] = to
}

// undo undoes the last merge. Only those references go back that the merge would move.
func (m *model) undo() {
	last := ask[op.Entries[merge.Merge]](m.desk, "merges.list", merge.ListInput{Limit: 1}).Data[0]
	stayed := map[string]bool{}
	for i, task := range m.tasks {
		stayed[task] = i%10 == 9
	}
	last = ask[merge.Merge](m.desk, "merges.undo", op.ByID{ID: last.ID})
	m.contacts[1] = last.RestoredID
	for task, name := range m.refers {
		if name == m.contacts[0] && !stayed[task] {
			m.refers[task] = last.RestoredID
		}
	}
}

func (m *model) check(t *testing.T, said string) {
	t.Helper()
	for i, task := range m.tasks {
		got, _ := m.record(task)["contactId"].(string)
		if want := m.refers[task]; got != want {
			t.Errorf("%s: task %d refers to %q, want %q", said, i, got, want)
			return
		}
	}
}
