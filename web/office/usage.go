package office

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"kartei/integration/key"
	"kartei/integration/usage"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/web/ui"
)

// refused are the calls with a status of class 4xx other than 429.
func refused(u *usage.Sum) int64 { return u.Unauthenticated + u.Forbidden + u.Rejected }

// succeeded are the calls that succeeded.
func succeeded(u *usage.Sum) int64 { return u.Calls - refused(u) - u.Limited - u.Failed }

// usedSubject is a key, an application or an endpoint with what the page says of it.
type usedSubject usage.Entry

// policyLeft is a limit with what pages say of it.
type policyLeft key.PolicyLeft

// usagePage is the usage with its filters.
type usagePage struct {
	usage.Report
	keys      []key.Info
	key, days string
	names     map[string]string
}

// spans are the choices of the filter by time. The first one is shown by the hour.
var spans = []option{
	newOption("1", "letzte 24 Stunden", "last 24 hours"),
	newOption("7", "7 Tage", "7 days"),
	newOption("30", "30 Tage", "30 days"),
	newOption("90", "90 Tage", "90 days"),
}

// usualSpan is shown first.
const usualSpan = "30"

// showUsage serves the usage.
func showUsage(v *request) view {
	q := v.URL.Query()
	p := usagePage{key: q.Get("key"), days: cmp.Or(offered(spans, q.Get("days")), usualSpan), names: map[string]string{}}
	days, _ := strconv.Atoi(p.days)
	in := usage.Input{Key: p.key, Days: days, Zone: v.words.Zone.String()}
	if p.hourly() {
		in.By = "hour"
	}
	err := together(
		func() (err error) { p.Report, err = ask(v, usage.Get, in); return err },
		func() error {
			found, err := ask(v, key.List, offeredKeys)
			p.keys = found.Data
			return err
		},
	)
	if fault.Is(err, fault.NotFound) { // the key is not there, or not the person's
		return view{to: usagePath}
	}
	if err != nil {
		return v.failed(err)
	}
	var owners []string
	for _, s := range slices.Concat(p.Calls.Subjects, p.Deliveries.Subjects) {
		owners = append(owners, s.PrincipalID)
		if isApplication(s.ID) {
			owners = append(owners, s.ID)
		}
	}
	if err := v.namesOf(slices.DeleteFunc(owners, func(id string) bool { return id == "" }), p.names); err != nil {
		return v.failed(err)
	}
	return v.settings(usagePath, usageTitle(v), usageView(v, p))
}

func usageTitle(v *request) string { return v.words.Say("Nutzung", "Usage") }

// hourly reports whether the charts are by the hour.
func (p *usagePage) hourly() bool { return p.days == spans[0].value }

// span says in words which time is shown.
func (p *usagePage) span(v *request) string {
	return spans[slices.IndexFunc(spans, func(o option) bool { return o.value == p.days })].label.In(v.words.Language)
}

// none reports whether nothing was called or delivered.
func (p *usagePage) none() bool { return p.Calls.Total.Calls+p.Deliveries.Total.Calls == 0 }

// calls is the address of the request log with the calls of a status, in the time that is
// shown. The log keeps 30 days, and of refused calls that are very many only some.
func (p *usagePage) calls(status string) string {
	q := url.Values{"status": {status}}
	if since := map[string]string{"1": "24h", "7": "168h"}[p.days]; since != "" {
		q.Set("since", since)
	}
	if p.key != "" {
		q.Set("key", p.key)
	}
	return requestsPath + "?" + q.Encode()
}

// tile is a number with its name.
type tile struct{ name, value, note, href string }

// tiles are the sums.
func (p *usagePage) tiles(v *request) []tile {
	c, d := &p.Calls.Total, &p.Deliveries.Total
	list := []tile{
		{name: v.words.Say("Aufrufe", "Calls"), value: figure(v, c.Calls)},
		{name: v.words.Say("Abgelehnt (4xx)", "Refused (4xx)"), value: figure(v, refused(c)+c.Limited), href: p.calls("4xx")},
		{name: v.words.Say("Davon zu viele (429)", "Too many of them (429)"), value: figure(v, c.Limited), href: p.calls("429")},
		{name: v.words.Say("Fehler (5xx)", "Faults (5xx)"), value: figure(v, c.Failed), href: p.calls("5xx")},
		{name: v.words.Say("Punkte", "Points"), value: figure(v, c.Points)},
		{name: v.words.Say("Gelesene Einträge", "Records read"), value: figure(v, c.Records)},
		{name: v.words.Say("Antwortzeit", "Response time"), value: millis(v, c.P50Micros), note: v.words.Say("95 von 100: ", "95 of 100: ") + millis(v, c.P95Micros)},
	}
	if d.Calls > 0 {
		list = append(list, tile{name: v.words.Say("Zustellungen", "Deliveries"), value: figure(v, d.Calls), note: v.words.Say("fehlgeschlagen: ", "failed: ") + figure(v, d.Failed), href: webhooksPath})
	}
	for i := range list {
		if list[i].value == "0" {
			list[i].href = ""
		}
	}
	return list
}

// charts are the drawings.
func (p *usagePage) charts(v *request) []ui.Chart {
	kinds := []ui.Series{
		{Name: v.words.Say("erfolgreich", "successful"), Kind: ui.Info, Values: sums(&p.Calls, succeeded)},
		{Name: v.words.Say("abgelehnt (4xx)", "refused (4xx)"), Kind: ui.Plain, Values: sums(&p.Calls, refused)},
		{Name: v.words.Say("zu viele (429)", "too many (429)"), Kind: ui.Warn, Values: sums(&p.Calls, func(u *usage.Sum) int64 { return u.Limited })},
		{Name: v.words.Say("Fehler (5xx)", "faults (5xx)"), Kind: ui.Bad, Values: sums(&p.Calls, func(u *usage.Sum) int64 { return u.Failed })},
	}
	list := []ui.Chart{
		p.chart(v, "calls", v.words.Say("Aufrufe", "Calls"), &p.Calls, kinds...),
		p.chart(v, "time", v.words.Say("Antwortzeit", "Response time"), &p.Calls, times(v, &p.Calls)...),
		p.chart(v, "points", v.words.Say("Punkte", "Points"), &p.Calls, ui.Series{Name: v.words.Say("Punkte", "points"), Kind: ui.Info, Values: sums(&p.Calls, func(u *usage.Sum) int64 { return u.Points })}),
	}
	list[1].Lines, list[1].Format = true, func(n int64) string { return millis(v, n) }
	if p.Deliveries.Total.Calls > 0 {
		list = append(list, p.chart(v, "deliveries", v.words.Say("Webhook-Zustellungen", "Webhook deliveries"), &p.Deliveries,
			ui.Series{Name: v.words.Say("zugestellt", "delivered"), Kind: ui.Info, Values: sums(&p.Deliveries, func(u *usage.Sum) int64 { return u.Calls - u.Failed })},
			ui.Series{Name: v.words.Say("fehlgeschlagen", "failed"), Kind: ui.Bad, Values: sums(&p.Deliveries, func(u *usage.Sum) int64 { return u.Failed })}))
	}
	return list
}

// times are the two lines of how long calls took.
func times(v *request, s *usage.Series) []ui.Series {
	return []ui.Series{
		{Name: v.words.Say("die Hälfte höchstens (p50)", "half of them at most (p50)"), Kind: ui.Info, Values: sums(s, func(u *usage.Sum) int64 { return u.P50Micros })},
		{Name: v.words.Say("95 von 100 höchstens (p95)", "95 of 100 at most (p95)"), Kind: ui.Plain, Values: sums(s, func(u *usage.Sum) int64 { return u.P95Micros })},
	}
}

// chart returns a chart of a series without its format.
func (p *usagePage) chart(v *request, id, title string, s *usage.Series, series ...ui.Series) ui.Chart {
	c := ui.Chart{ID: "chart-" + id, Title: title, Head: v.words.Say("Tag", "Day"), Series: series}
	if p.hourly() {
		c.Head = v.words.Say("Stunde", "Hour")
	}
	for _, point := range s.Points {
		at := point.Start.Time()
		if p.hourly() {
			c.Points, c.Ticks = append(c.Points, v.words.Time(at)), append(c.Ticks, v.words.Clock(at))
			continue
		}
		c.Points, c.Ticks = append(c.Points, v.words.Day(at)), append(c.Ticks, v.words.Short(at))
	}
	c.Desc = title + ", " + p.span(v) + v.words.Say(". Die Zahlen stehen in der Tabelle darunter.", ". The numbers are in the table below.")
	return c
}

// sums returns one number of each point.
func sums(s *usage.Series, of func(*usage.Sum) int64) []int64 {
	list := make([]int64, len(s.Points))
	for i := range s.Points {
		list[i] = of(&s.Points[i].Sum)
	}
	return list
}

// isApplication reports whether the calls of a subject are an application's.
func isApplication(subject string) bool { return id.Valid(id.Grant, subject) }

// title is the name of a key, an application or an endpoint. Of a deleted endpoint only
// the id is known.
func (p *usagePage) title(s *usedSubject) string {
	switch {
	case s.KidShort != "":
		return first(s.Name, "kart_"+s.Environment+"_"+s.KidShort+"…")
	case isApplication(s.ID):
		return first(p.names[s.ID], s.ID)
	}
	return first(s.Name, s.ID)
}

// href is the page of a key, an application or an endpoint.
func (s *usedSubject) href() string {
	switch {
	case isApplication(s.ID):
		return applicationsPath + "#" + s.ID
	case s.PrincipalID == "":
		return ""
	case s.KidShort != "":
		return keysPath + "/" + url.PathEscape(s.ID)
	}
	return webhooksPath + "/" + url.PathEscape(s.ID)
}

// note says whose a subject is, and when it last met its limits.
func (p *usagePage) note(v *request, s *usedSubject) string {
	limited := ""
	if s.LimitedAt != 0 {
		limited = v.words.Say("zuletzt 429: ", "last 429: ") + v.words.Short(s.LimitedAt.Time()) + " " + v.words.Clock(s.LimitedAt.Time())
	}
	return joined(" · ", p.names[s.PrincipalID], s.Environment, limited)
}

// shown are the limits of a key that its line shows: all, or the tightest one.
func (p *usagePage) shown(l *usage.KeyLimits) []key.PolicyLeft {
	if p.key != "" || len(l.Policies) == 0 {
		return l.Policies
	}
	return []key.PolicyLeft{slices.MinFunc(l.Policies, func(a, b key.PolicyLeft) int {
		return cmp.Compare(a.Remaining*b.Capacity, b.Remaining*a.Capacity)
	})}
}

// units are what limits count.
var units = map[string]fault.Text{
	"points":  text("Punkte", "points"),
	"writes":  text("Schreibende Aufrufe", "writing calls"),
	"calls":   text("Gleichzeitige Aufrufe", "calls at the same time"),
	"deletes": text("Löschungen", "deletes"),
	"records": text("Gelesene Einträge", "records read"),
}

// levels are whom limits are for.
var levels = map[string]fault.Text{
	"key":          text("dieses Schlüssels", "of this key"),
	"principal":    text("aller Schlüssel von dessen Inhaber", "of all keys of its owner"),
	"organization": text("der ganzen Organisation", "of the whole organization"),
}

// title says what a limit counts, and for whom.
func (l *policyLeft) title(v *request) string {
	return l.counts(v) + " " + levels[l.Level].In(v.words.Language)
}

// counts says what a limit counts.
func (l *policyLeft) counts(v *request) string {
	name := units[l.Unit].In(v.words.Language)
	switch l.WindowSeconds {
	case 60:
		name += v.words.Say(" je Minute", " a minute")
	case 3600:
		name += v.words.Say(" je Stunde", " an hour")
	case 24 * 3600:
		name += v.words.Say(" je Tag", " a day")
	}
	return name
}

// left says how much is left, and when all is again.
func (l *policyLeft) left(v *request) string {
	text := v.words.Say("frei: ", "left: ") + figure(v, l.Remaining) + v.words.Say(" von ", " of ") + figure(v, l.Capacity)
	if l.ResetSeconds > 0 && l.Remaining < l.Capacity {
		text += v.words.Say(", wieder alles in ", ", all again in ") + waiting(v.words, time.Duration(l.ResetSeconds)*time.Second)
	}
	return text
}

// scarce reports whether less than a fifth is left.
func (l *policyLeft) scarce() bool { return l.Remaining*5 < l.Capacity }

// figure writes a number.
func figure(v *request, n int64) string { return v.words.Number(int(n)) }

// millis writes a time in milliseconds, as exactly as the estimate allows.
func millis(v *request, micros int64) string {
	switch {
	case micros == 0:
		return "–"
	case micros < 10_000:
		return v.words.Decimal(float64(micros)/1000, 1) + "\u00a0ms"
	}
	return figure(v, micros/1000) + "\u00a0ms"
}
