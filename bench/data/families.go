package data

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"kartei/api"
	"kartei/api/op"
	"kartei/bench/report"
	"kartei/kit/clock"
	"kartei/kit/progress"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/search"
	"kartei/record/task"
	"kartei/store/db"
)

// Furnish creates companies, tasks and documents until there are n of each.
func (f *Founder) Furnish(ctx context.Context, n int) error {
	var have int
	if err := f.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from documents where organization = $1`, f.Actor.Org()).Scan(&have)
	}); err != nil || have >= n {
		return err
	}
	report.Say("%s companies, tasks and documents: filling", report.Number(float64(n)))
	bar := progress.New(os.Stderr)
	defer bar.End()
	people, words := NewPeople(f.Office.Users), NewVocabulary()
	for from := have; from < n; from += 500 {
		err := f.db.Write(ctx, func(tx db.Tx) error {
			call := &op.Call{
				Actor: f.Actor, Tx: tx, Now: clock.Now(clock.System), Services: &op.Services{Families: api.Families},
			}
			for i := from; i < min(from+500, n); i++ {
				p := people.Next()
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

// Prefix returns the first n characters of a text, or an empty string for nil.
func Prefix(text *string, n int) string {
	if text == nil {
		return ""
	}
	runes := []rune(*text)
	return string(runes[:min(n, len(runes))])
}

// oneOfEach creates a company, a task and a document. Their names contain the name of the person p.
func (f *Founder) oneOfEach(ctx context.Context, c *op.Call, i int, p contact.Fields, v *Vocabulary) error {
	name := cmp.Or(Prefix(p.LastName, 50), "Ohne")
	if _, err := company.Companies.Create(ctx, c, &company.Fields{
		Name: name + " & Partner " + fmt.Sprint(i), Phone: p.Phone, Email: p.Email,
	}); err != nil {
		return err
	}
	if _, err := task.Tasks.Create(ctx, c, &task.Fields{Title: "Rückruf " + name, Description: p.Note}); err != nil {
		return err
	}
	_, err := Store(ctx, c.Tx, *f, i, v.Content(i, 200))
	return err
}
