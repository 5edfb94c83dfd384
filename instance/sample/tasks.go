package sample

import (
	"math/rand/v2"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/contact"
	"kartei/record/task"
)

// chores are the titles of tasks by field of law. The fields are tags in words.go.
var chores = map[string][]string{
	"Erbrecht":      {"Nachlassverzeichnis anfordern", "Erbscheinsantrag vorbereiten", "Pflichtteil berechnen"},
	"Familienrecht": {"Unterhaltsberechnung prüfen", "Scheidungsantrag entwerfen", "Umgangsregelung besprechen"},
	"Mietrecht":     {"Nebenkostenabrechnung prüfen", "Kündigung entwerfen", "Mängelanzeige schreiben"},
	"Arbeitsrecht":  {"Kündigungsschutzklage einreichen", "Arbeitszeugnis prüfen", "Aufhebungsvertrag verhandeln"},
	"Verkehrsrecht": {"Akteneinsicht beantragen", "Schaden bei der Versicherung melden"},
	"Einkommensteuer": {
		"Steuererklärung fertigstellen", "Belege nachfordern", "Steuerbescheid prüfen", "Einspruch einlegen",
	},
	"Lohnbuchhaltung": {"Lohnabrechnung erstellen", "Meldung zur Sozialversicherung prüfen"},
	"Jahresabschluss": {"Jahresabschluss vorbereiten", "Inventurliste anfordern", "Bilanz besprechen"},
	"Umsatzsteuer":    {"Umsatzsteuer-Voranmeldung abgeben", "Belege für den Monat einfordern"},
	"Vertragsrecht":   {"Vertragsentwurf prüfen", "Anmerkungen an die Gegenseite schicken"},
}

// commonTasks are titles of tasks that fit any client.
var commonTasks = []string{
	"Rückruf", "Termin vereinbaren", "Rechnung stellen", "Vollmacht einholen", "Unterlagen ablegen",
	"Wiedervorlage",
}

var taskNotes = []string{
	"Frist im Kalender eingetragen.",
	"Unterlagen liegen in der Akte.\nVor dem Versand bitte gegenlesen.",
	"Mandantschaft wartet auf Nachricht.",
}

// berlin is the time zone of the office. deadlines are the hours at which its tasks are due.
var (
	berlin = func() *time.Location {
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			panic(err) // the program contains the time zones
		}
		return zone
	}()
	deadlines = []int{9, 12, 17}
)

// errand is a task and the index of its contact.
type errand struct {
	task.Fields
	contact int
	// done says that the task is completed after its creation.
	done bool
}

// tasks invents tasks for the clients among people. About one client in three has a task, open or
// done. Due dates are around now, at the hours in deadlines.
func tasks(people []contact.Fields, owners []string, now clock.Micros) []errand {
	d := &draw{Rand: rand.New(rand.NewPCG(seed1, seed1))}
	var list []errand
	for i := range people {
		p := &people[i]
		if p.ExternalID == nil || !d.percent(45) {
			continue
		}
		what := commonTasks
		for _, tag := range p.Tags {
			if known := chores[tag]; known != nil && d.percent(75) {
				what = known
			}
		}
		e := errand{contact: i, done: d.percent(35)}
		e.Title = pick(d, what) + ": " + *p.LastName
		e.Reference = text(strings.TrimPrefix(*p.ExternalID, "M-") + now.Time().Format("/06"))
		e.Priority = pick(d, []task.Priority{task.Normal, task.Normal, task.Normal, "high", "low"})
		if d.percent(80) {
			days := d.IntN(40) - 5
			if e.done {
				days -= 40
			}
			day := now.Time().In(berlin)
			due := clock.FromTime(time.Date(day.Year(), day.Month(), day.Day()+days, deadlines[i%len(deadlines)], 0, 0, 0,
				berlin))
			e.DueAt = &due
		}
		if d.percent(25) {
			e.Description = text(pick(d, taskNotes))
		}
		assignee := pick(d, owners)
		e.AssigneeID, e.OwnerID, e.Tags = &assignee, p.OwnerID, []string{"Frist"}
		if !d.percent(30) {
			e.Tags = nil
		}
		e.Visibility = p.Visibility
		if p.Visibility == record.Private {
			e.AssigneeID = &p.OwnerID
		}
		list = append(list, e)
	}
	return list
}
