package keys

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"kartei/integration/key"
	"kartei/integration/usage"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/web/shell"
	"kartei/web/ui"
)

// refused returns the number of calls with a status of 4xx, except 429.
func refused(u *usage.Sum) int64 { return u.Unauthenticated + u.Forbidden + u.Rejected }

// succeeded returns the number of calls that succeeded.
func succeeded(u *usage.Sum) int64 { return u.Calls - refused(u) - u.Limited - u.Failed }

// usedSubject is the usage of a key, an application or a webhook endpoint.
type usedSubject usage.Entry

// policyBalance is a limit and its balance, with the texts for the pages.
type policyBalance key.PolicyBalance

// usagePage has the data of the usage page.
type usagePage struct {
	usage.Report
	keys      []key.Info
	key, days string
	names     map[string]string
}

// spans are the options of the filter by time, in days. The charts of the first one have a point
// for each hour.
var spans = []shell.Option{
	shell.NewOption("1", "last 24 hours"),
	shell.NewOption("7", "7 days"),
	shell.NewOption("30", "30 days"),
	shell.NewOption("90", "90 days"),
}

// defaultSpan is the option that is selected first.
const defaultSpan = "30"

// showUsage serves the usage page.
func showUsage(v *shell.Request) shell.View {
	q := v.URL.Query()
	p := usagePage{key: q.Get("key"), days: cmp.Or(shell.Offered(spans, q.Get("days")), defaultSpan), names: map[string]string{}}
	days, _ := strconv.Atoi(p.days)
	in := usage.Input{Key: p.key, Days: days, Zone: v.Words.Zone.String()}
	if p.hourly() {
		in.By = "hour"
	}
	err := shell.Together(
		func() (err error) { p.Report, err = shell.Ask(v, usage.Get, in); return err },
		func() error {
			found, err := shell.Ask(v, key.List, offeredKeys)
			p.keys = found.Data
			return err
		},
	)
	if fault.Is(err, fault.NotFound) { // no such key, or another person's
		return shell.Redirect{To: shell.UsagePath}
	}
	if err != nil {
		return v.Failed(err)
	}
	var owners []string
	for _, s := range slices.Concat(p.Calls.Subjects, p.Deliveries.Subjects) {
		owners = append(owners, s.PrincipalID)
		if isApplication(s.ID) {
			owners = append(owners, s.ID)
		}
	}
	if err := v.NamesOf(slices.DeleteFunc(owners, func(id string) bool { return id == "" }), p.names); err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.UsagePath, usageTitle(v), usageView(v, p))
}

func usageTitle(v *shell.Request) string { return v.Words.Say("Usage") }

// hourly reports whether the charts have a point for each hour.
func (p *usagePage) hourly() bool { return p.days == spans[0].Value }

// span returns the label of the selected time.
func (p *usagePage) span(v *shell.Request) string {
	return v.Words.Say(spans[slices.IndexFunc(spans, func(o shell.Option) bool { return o.Value == p.days })].Label)
}

// none reports whether there were no calls and no deliveries.
func (p *usagePage) none() bool { return p.Calls.Total.Calls+p.Deliveries.Total.Calls == 0 }

// calls returns the address of the request log, filtered by status and by the selected time. The
// log has only 30 days, and does not keep every call of a series of refused calls.
func (p *usagePage) calls(status string) string {
	q := url.Values{"status": {status}}
	if since := map[string]string{"1": "24h", "7": "168h"}[p.days]; since != "" {
		q.Set("since", since)
	}
	if p.key != "" {
		q.Set("key", p.key)
	}
	return shell.RequestsPath + "?" + q.Encode()
}

// tile is a total above the charts. href is the address of a page about it, or empty.
type tile struct{ name, value, note, href string }

// tiles returns the totals above the charts.
func (p *usagePage) tiles(v *shell.Request) []tile {
	c, d := &p.Calls.Total, &p.Deliveries.Total
	list := []tile{
		{name: v.Words.Say("Calls"), value: figure(v, c.Calls)},
		{name: v.Words.Say("Refused (4xx)"), value: figure(v, refused(c)+c.Limited), href: p.calls("4xx")},
		{name: v.Words.Say("Too many of them (429)"), value: figure(v, c.Limited), href: p.calls("429")},
		{name: v.Words.Say("Faults (5xx)"), value: figure(v, c.Failed), href: p.calls("5xx")},
		{name: v.Words.Say("Points"), value: figure(v, c.Points)},
		{name: v.Words.Say("Records read"), value: figure(v, c.Records)},
		{name: v.Words.Say("Response time"), value: millis(v, c.P50Micros), note: v.Words.Say("95 of 100: %s", millis(v, c.P95Micros))},
	}
	if d.Calls > 0 {
		list = append(list, tile{name: v.Words.Say("Deliveries"), value: figure(v, d.Calls), note: v.Words.Say("failed:  [calls]") + figure(v, d.Failed), href: shell.WebhooksPath})
	}
	for i := range list {
		if list[i].value == "0" {
			list[i].href = ""
		}
	}
	return list
}

// charts returns the charts of calls, response times, points and deliveries.
func (p *usagePage) charts(v *shell.Request) []ui.Chart {
	kinds := []ui.Series{
		{Name: v.Words.Say("successful"), Kind: ui.Info, Values: sums(&p.Calls, succeeded)},
		{Name: v.Words.Say("refused (4xx)"), Kind: ui.Plain, Values: sums(&p.Calls, refused)},
		{Name: v.Words.Say("too many (429)"), Kind: ui.Warn, Values: sums(&p.Calls, func(u *usage.Sum) int64 { return u.Limited })},
		{Name: v.Words.Say("faults (5xx)"), Kind: ui.Bad, Values: sums(&p.Calls, func(u *usage.Sum) int64 { return u.Failed })},
	}
	list := []ui.Chart{
		p.chart(v, "calls", v.Words.Say("Calls"), &p.Calls, kinds...),
		p.chart(v, "time", v.Words.Say("Response time"), &p.Calls, times(v, &p.Calls)...),
		p.chart(v, "points", v.Words.Say("Points"), &p.Calls, ui.Series{Name: v.Words.Say("points"), Kind: ui.Info, Values: sums(&p.Calls, func(u *usage.Sum) int64 { return u.Points })}),
	}
	list[1].Lines, list[1].Format = true, func(n int64) string { return millis(v, n) }
	if p.Deliveries.Total.Calls > 0 {
		list = append(list, p.chart(v, "deliveries", v.Words.Say("Webhook deliveries"), &p.Deliveries,
			ui.Series{Name: v.Words.Say("delivered"), Kind: ui.Info, Values: sums(&p.Deliveries, func(u *usage.Sum) int64 { return u.Calls - u.Failed })},
			ui.Series{Name: v.Words.Say("failed [calls]"), Kind: ui.Bad, Values: sums(&p.Deliveries, func(u *usage.Sum) int64 { return u.Failed })}))
	}
	return list
}

// times returns the series of the median and of the 95th percentile of response times.
func times(v *shell.Request, s *usage.Series) []ui.Series {
	return []ui.Series{
		{Name: v.Words.Say("half of them at most (p50)"), Kind: ui.Info, Values: sums(s, func(u *usage.Sum) int64 { return u.P50Micros })},
		{Name: v.Words.Say("95 of 100 at most (p95)"), Kind: ui.Plain, Values: sums(s, func(u *usage.Sum) int64 { return u.P95Micros })},
	}
}

// chart returns a chart with the points of s.
func (p *usagePage) chart(v *shell.Request, id, title string, s *usage.Series, series ...ui.Series) ui.Chart {
	c := ui.Chart{ID: "chart-" + id, Title: title, Head: v.Words.Say("Day"), Series: series}
	if p.hourly() {
		c.Head = v.Words.Say("Hour")
	}
	for _, point := range s.Points {
		at := point.Start.Time()
		if p.hourly() {
			c.Points, c.Ticks = append(c.Points, v.Words.Time(at)), append(c.Ticks, v.Words.Clock(at))
			continue
		}
		c.Points, c.Ticks = append(c.Points, v.Words.Day(at)), append(c.Ticks, v.Words.Short(at))
	}
	c.Desc = title + ", " + p.span(v) + v.Words.Say(". The numbers are in the table below.")
	return c
}

// sums returns of for each point of s.
func sums(s *usage.Series, of func(*usage.Sum) int64) []int64 {
	list := make([]int64, len(s.Points))
	for i := range s.Points {
		list[i] = of(&s.Points[i].Sum)
	}
	return list
}

// isApplication reports whether the subject is a grant, which means that an application made the
// calls.
func isApplication(subject string) bool { return id.Valid(id.Grant, subject) }

// title returns the name of a key, an application or a webhook endpoint. For a deleted endpoint it
// returns the id.
func (p *usagePage) title(s *usedSubject) string {
	switch {
	case s.KidShort != "":
		return cmp.Or(s.Name, "kart_"+s.Environment+"_"+s.KidShort+"…")
	case isApplication(s.ID):
		return cmp.Or(p.names[s.ID], s.ID)
	}
	return cmp.Or(s.Name, s.ID)
}

// href returns the address of the page of a key, an application or a webhook endpoint. It is empty
// for a deleted endpoint.
func (s *usedSubject) href() string {
	switch {
	case isApplication(s.ID):
		return shell.ApplicationsPath + "#" + s.ID
	case s.PrincipalID == "":
		return ""
	case s.KidShort != "":
		return shell.KeysPath + "/" + url.PathEscape(s.ID)
	}
	return shell.WebhooksPath + "/" + url.PathEscape(s.ID)
}

// note returns the owner of the subject, and the time when it last exceeded a limit.
func (p *usagePage) note(v *shell.Request, s *usedSubject) string {
	limited := ""
	if s.LimitedAt != 0 {
		limited = v.Words.Say("last 429: %s %s", v.Words.Short(s.LimitedAt.Time()), v.Words.Clock(s.LimitedAt.Time()))
	}
	return shell.Joined(" · ", p.names[s.PrincipalID], s.Environment, limited)
}

// shown returns the limits of a key that the page shows. The page of one key shows all. The page of
// all keys shows the tightest limit of each.
func (p *usagePage) shown(l *usage.KeyLimits) []key.PolicyBalance {
	if p.key != "" || len(l.Policies) == 0 {
		return l.Policies
	}
	return []key.PolicyBalance{slices.MinFunc(l.Policies, func(a, b key.PolicyBalance) int {
		return cmp.Compare(a.Remaining*b.Capacity, b.Remaining*a.Capacity)
	})}
}

// units are the texts for the units of limits.
var units = map[string]i18n.Text{
	"points":  "points",
	"writes":  "writing calls",
	"calls":   "calls at the same time",
	"deletes": "deletes",
	"records": "records read",
}

// levels are the texts that say to whom a limit applies.
var levels = map[string]i18n.Text{
	"key":          "of this key",
	"principal":    "of all keys of its owner",
	"organization": "of the whole organization",
}

// title returns the unit of the limit and to whom it applies.
func (l *policyBalance) title(v *shell.Request) string {
	return l.counts(v) + " " + v.Words.Say(levels[l.Level])
}

// counts returns the unit of the limit and its window.
func (l *policyBalance) counts(v *shell.Request) string {
	name := v.Words.Say(units[l.Unit])
	switch l.WindowSeconds {
	case 60:
		name += v.Words.Say(" a minute [each]")
	case 3600:
		name += v.Words.Say(" an hour [each]")
	case 24 * 3600:
		name += v.Words.Say(" a day")
	}
	return name
}

// left returns the rest of the limit, and the time until it is full again.
func (l *policyBalance) left(v *shell.Request) string {
	text := v.Words.Say("left: %s of %s", figure(v, l.Remaining), figure(v, l.Capacity))
	if l.ResetSeconds > 0 && l.Remaining < l.Capacity {
		text += v.Words.Say(", all again in %s", shell.Waiting(v.Words, time.Duration(l.ResetSeconds)*time.Second))
	}
	return text
}

// scarce reports whether less than a fifth of the limit is left.
func (l *policyBalance) scarce() bool { return l.Remaining*5 < l.Capacity }

// figure formats a number.
func figure(v *shell.Request, n int64) string { return v.Words.Number(int(n)) }

// millis formats a duration in milliseconds, with one decimal below 10 ms. Zero, which means no
// value, becomes a dash.
func millis(v *shell.Request, micros int64) string {
	switch {
	case micros == 0:
		return "–"
	case micros < 10_000:
		return v.Words.Decimal(float64(micros)/1000, 1) + "\u00a0ms"
	}
	return figure(v, micros/1000) + "\u00a0ms"
}
