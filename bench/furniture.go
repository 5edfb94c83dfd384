package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"kartei/api"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/progress"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/search"
	"kartei/record/task"
	"kartei/store/db"
)

// furnish creates n companies, tasks and documents, as far as they are missing.
func (f *founder) furnish(ctx context.Context, n int) error {
	var have int
	if err := f.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from documents where organization = $1`, f.actor.Org()).Scan(&have)
	}); err != nil || have >= n {
		return err
	}
	say("%s companies, tasks and documents: filling", number(float64(n)))
	bar := progress.New(os.Stderr)
	defer bar.End()
	people, words := newPeople(f.office.Users), newVocabulary()
	for from := have; from < n; from += 500 {
		err := f.db.Write(ctx, func(tx db.Tx) error {
			call := &op.Call{
				Actor: f.actor, Tx: tx, Now: clock.Now(clock.System), Services: &op.Services{Families: api.Families},
			}
			for i := from; i < min(from+500, n); i++ {
				p := people.next()
				if err := f.oneOfEach(ctx, call, i, p, words); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		bar.Tell(int64(min(from+500, n)), int64(n))
	}
	return search.NewMerger(f.db, clock.System).Once(ctx, clock.Now(clock.System).Add(time.Hour))
}

// oneOfEach creates a company, a task and a document with the names of a person.
func (f *founder) oneOfEach(ctx context.Context, c *op.Call, i int, p contact.Fields, v *vocabulary) error {
	name := "Ohne"
	if p.LastName != nil {
		name = *p.LastName
	}
	if _, err := company.Companies.Create(ctx, c, &company.Fields{
		Name: name + " & Partner " + fmt.Sprint(i), Phone: p.Phone, Email: p.Email,
	}); err != nil {
		return err
	}
	if _, err := task.Tasks.Create(ctx, c, &task.Fields{Title: "Rückruf " + name, Description: p.Note}); err != nil {
		return err
	}
	_, err := store(ctx, c.Tx, *f, i, v.content(i, 200))
	return err
}
