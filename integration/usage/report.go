package usage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/input"
	"kartei/store/db"
)

const (
	// maxDays and maxHourly bound a chart by day and one by hour, in days.
	maxDays, maxHourly = 91, 14
	defaultDays        = 30
	// maxSubjects bounds the keys and the endpoints of a table, and limitsShown the
	// keys whose limits are read. Those with the most calls are shown.
	maxSubjects, limitsShown = 200, 20
)

// Input is the input of Get.
type Input struct {
	Organization string `json:"organizationId,omitempty"`
	// Key is the id of one key, or the short form of its kid. Without it all keys are
	// counted that the caller administers.
	Key string `json:"key,omitempty"`
	// Days is the length of the time that ends now, 1 to 91; zero means 30.
	Days int `json:"days,omitempty"`
	// By is hour or day; empty means day. By hour there are at most 14 days.
	By string `json:"by,omitempty"`
	// Zone is the time zone of the days; empty means UTC. An hour belongs to the day
	// in which it begins.
	Zone string `json:"zone,omitempty"`
}

// Report counts the calls of keys and the deliveries to webhook endpoints, and
// has the rest of the limits.
type Report struct {
	From  clock.Micros `json:"from"`
	Until clock.Micros `json:"until"`
	// Calls are the calls of keys. Deliveries are the attempts at webhook endpoints.
	Calls      Series `json:"calls"`
	Deliveries Series `json:"deliveries"`
	// Metered says whether limits are enforced. Limits are the limits of the key, or of
	// the keys with the most calls.
	Metered bool        `json:"metered"`
	Limits  []KeyLimits `json:"limits"`
}

// Series are counts over time, and by subject.
type Series struct {
	Total Sum `json:"total"`
	// Points are the days or hours of the whole time, also those without calls.
	Points []Point `json:"points"`
	// Subjects are the keys or endpoints, those with the most calls first.
	Subjects []Entry `json:"subjects"`
}

// Sum are the counts of some time.
type Sum struct {
	Counts
	// P50Micros and P95Micros are how long half of the calls, and 95 of 100, took at
	// most. They are estimates: see Latency.
	P50Micros int64 `json:"p50Micros"`
	P95Micros int64 `json:"p95Micros"`
}

// Point is a day or an hour.
type Point struct {
	Start clock.Micros `json:"start"`
	Sum
}

// Entry is a key or a webhook endpoint.
type Entry struct {
	ID string `json:"id"`
	// Name and PrincipalID are empty for an endpoint that was deleted.
	Name        string `json:"name"`
	PrincipalID string `json:"principalId"`
	// KidShort and Environment are a key's, and empty for an endpoint.
	KidShort    string `json:"kidShort,omitempty"`
	Environment string `json:"environment,omitempty"`
	// LimitedAt is the last hour in which a call was refused with 429; null if none was.
	LimitedAt clock.Micros `json:"limitedAt"`
	Sum
}

// KeyLimits is what is left of the limits of a key, also those that it shares with its
// principal and its organization.
type KeyLimits struct {
	KeyID    string              `json:"keyId"`
	KidShort string              `json:"kidShort"`
	Name     string              `json:"name"`
	Policies []key.PolicyBalance `json:"policies"`
}

// Flush writes the calls that wait for the request log. Nil does nothing.
var Flush = op.Need[func(ctx context.Context) error]("request log")

// Get returns the usage of keys and endpoints, and the rest of the limits of keys.
var Get = op.NewPrefetched("usage.get", op.Read, prefetch, get, op.By(op.Self|op.Operator))

func get(_ context.Context, _ *op.Call, _ Input, u Report) (Report, error) { return u, nil }

// prefetch reads counts and limits before the transaction. To ask for limits may take
// other transactions, even of other replicas, and must not keep one open. Callers who
// do not administer the organization see their own keys and endpoints.
func prefetch(ctx context.Context, c *op.Call, in Input) (u Report, err error) {
	if Flush.In(c) != nil {
		if err := Flush.In(c)(ctx); err != nil {
			return u, err
		}
	}
	var keys []key.Info
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		own := *c
		own.Tx = tx
		u, keys, err = read(ctx, &own, in)
		return err
	})
	if err != nil {
		return u, err
	}
	limiter := key.Limits.In(c)
	u.Metered, u.Limits = limiter.Metered(), []KeyLimits{}
	for _, k := range keys[:min(len(keys), limitsShown)] {
		l, err := limitsOf(ctx, limiter, k)
		if err != nil {
			return u, err
		}
		u.Limits = append(u.Limits, l)
	}
	return u, nil
}

// limitsOf returns what is left to a key. It charges nothing.
func limitsOf(ctx context.Context, limiter limit.Limiter, k key.Info) (KeyLimits, error) {
	statuses, err := limiter.Status(ctx, limit.Charge{Organization: k.Number(), Principal: k.PrincipalID, Key: k.ID})
	l := KeyLimits{KeyID: k.ID, KidShort: k.KidShort, Name: k.Name}
	for i := range statuses {
		l.Policies = append(l.Policies, key.LeftOf(&statuses[i]))
	}
	return l, err
}

// read returns the counts, and the keys that work, those with the most calls
// first.
func read(ctx context.Context, c *op.Call, in Input) (u Report, working []key.Info, err error) {
	days, zone, err := in.span()
	if err != nil {
		return u, nil, err
	}
	starts := in.starts(c.Now, days, zone)
	u.From, u.Until = starts[0], hour(c.Now)+clock.Hour
	seen, err := sightOf(ctx, c, in)
	if err != nil {
		return u, nil, err
	}
	if u.Calls, err = seen.series(ctx, c.Tx, Calls, seen.keys, starts, u.Until); err != nil {
		return u, nil, err
	}
	if u.Deliveries, err = seen.series(ctx, c.Tx, Deliveries, seen.endpoints, starts, u.Until); err != nil {
		return u, nil, err
	}
	working, err = nameKeys(ctx, c, u.Calls.Subjects)
	if err != nil {
		return u, nil, err
	}
	if seen.key.ID != "" {
		working = []key.Info{seen.key}
	}
	working = slices.DeleteFunc(working, func(k key.Info) bool { return k.Status != key.Active && k.Status != key.Paused })
	return u, working, nameEndpoints(ctx, c, seen.numbers, u.Deliveries.Subjects)
}

// span checks the input.
func (in *Input) span() (days int, zone *time.Location, err error) {
	var f input.Faults
	days = cmp.Or(in.Days, defaultDays)
	ceiling := maxDays
	if in.By == "hour" {
		ceiling = maxHourly
	}
	if days < 1 || days > ceiling {
		f.Add("days", fault.OutOfRange, fault.Range{Min: 1, Max: int64(ceiling)})
	}
	input.OneOf(&f, "by", cmp.Or(in.By, "day"), "day", "hour")
	zone, err = time.LoadLocation(cmp.Or(in.Zone, "UTC"))
	if err != nil || in.Zone == "Local" {
		f.Say("zone", fault.InvalidFormat, "A time zone is called Europe/Berlin, for example.")
	}
	return days, zone, f.Err()
}

// starts returns where the days or hours begin, the last of which is not over. A day
// of a time zone that is not whole hours from UTC begins with its first whole hour.
func (in *Input) starts(now clock.Micros, days int, zone *time.Location) (list []clock.Micros) {
	if in.By == "hour" {
		for at := hour(now) - clock.Micros(days*24-1)*clock.Hour; at <= now; at += clock.Hour {
			list = append(list, at)
		}
		return list
	}
	today := now.Time().In(zone)
	for ago := days - 1; ago >= 0; ago-- {
		midnight := clock.FromTime(time.Date(today.Year(), today.Month(), today.Day()-ago, 0, 0, 0, 0, zone))
		list = append(list, hour(midnight+clock.Hour-1))
	}
	return list
}

// hour returns the beginning of an hour.
func hour(t clock.Micros) clock.Micros { return t - t%clock.Hour }

// sight is what a caller sees of the usage: nil stands for all keys, or all endpoints.
type sight struct {
	numbers         []int64
	keys, endpoints []string
	key             key.Info
}

// sightOf returns what the caller sees.
func sightOf(ctx context.Context, c *op.Call, in Input) (s sight, err error) {
	if in.Key != "" {
		if s.key, err = key.Find(ctx, c, in.Key); err != nil {
			return s, err
		}
		s.numbers, s.keys = []int64{s.key.Number()}, []string{s.key.ID}
		s.endpoints, err = db.Values[string](ctx, c.Tx, selectEndpointsOfKey, s.key.Number(), s.key.ID)
		s.endpoints = append([]string{}, s.endpoints...)
		return s, err
	}
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return s, err
	}
	s.numbers = []int64{o.Number}
	if o.SandboxID != "" && in.Organization == "" {
		sandbox, err := access.OrganizationIn(ctx, c.Tx, o.SandboxID)
		if err != nil {
			return s, err
		}
		s.numbers = append(s.numbers, sandbox.Number)
	}
	if c.Administers() {
		return s, nil
	}
	own, err := key.OwnCredentials(ctx, c, "")
	if err != nil {
		return s, err
	}
	s.keys, s.endpoints = append([]string{}, own...), []string{}
	for _, number := range s.numbers {
		some, err := db.Values[string](ctx, c.Tx, selectEndpointsOfPrincipal, number, c.Actor.PrincipalID())
		if err != nil {
			return s, err
		}
		s.endpoints = append(s.endpoints, some...)
	}
	return s, nil
}

// series reads counts over time and by subject.
func (s *sight) series(
	ctx context.Context, tx db.Tx, kind Kind, subjects []string, starts []clock.Micros, until clock.Micros,
) (out Series, err error) {
	out = Series{Points: make([]Point, len(starts)), Subjects: []Entry{}}
	for i, start := range starts {
		out.Points[i].Start = start
	}
	for _, number := range s.numbers {
		r := Range{Organization: number, Kind: kind, From: starts[0], Until: until, Subjects: subjects}
		hours, err := r.Hours(ctx, tx)
		if err != nil {
			return out, err
		}
		for _, h := range hours {
			i, exact := slices.BinarySearch(starts, h.Start)
			if !exact {
				i--
			}
			out.Points[i].Counts.Add(&h.Counts)
			out.Total.Counts.Add(&h.Counts)
		}
		found, err := r.BySubject(ctx, tx, maxSubjects)
		if err != nil {
			return out, err
		}
		for _, f := range found {
			one := Entry{ID: f.ID, LimitedAt: f.LimitedAt, Sum: Sum{Counts: f.Counts}}
			one.estimate()
			out.Subjects = append(out.Subjects, one)
		}
	}
	slices.SortStableFunc(out.Subjects, func(a, b Entry) int { return cmp.Compare(b.Calls, a.Calls) })
	out.Total.estimate()
	for i := range out.Points {
		out.Points[i].estimate()
	}
	return out, nil
}

// estimate fills in how long calls took.
func (s *Sum) estimate() {
	s.P50Micros, s.P95Micros = s.Took.Quantile(0.5).Microseconds(), s.Took.Quantile(0.95).Microseconds()
}

// nameKeys fills in what is known of keys, and returns them.
func nameKeys(ctx context.Context, c *op.Call, subjects []Entry) (keys []key.Info, err error) {
	ids := make([]string, len(subjects))
	for i := range subjects {
		ids[i] = subjects[i].ID
	}
	found, err := key.WithIDs(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	for i := range subjects {
		s := &subjects[i]
		if n := slices.IndexFunc(found, func(k key.Info) bool { return k.ID == s.ID }); n >= 0 {
			k := found[n]
			s.Name, s.PrincipalID, s.KidShort, s.Environment = k.Name, k.PrincipalID, k.KidShort, k.Environment
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// nameEndpoints fills in what is known of webhook endpoints.
func nameEndpoints(ctx context.Context, c *op.Call, organizations []int64, subjects []Entry) error {
	ids := make([]string, len(subjects))
	for i := range subjects {
		ids[i] = subjects[i].ID
	}
	for _, number := range organizations {
		found, err := db.List(ctx, c.Tx, func(row db.Row) (e [3]string, err error) {
			return e, row.Scan(&e[0], &e[1], &e[2])
		}, selectEndpointNames+c.Tx.Dialect().In("$2"), number, db.Texts(ids))
		if err != nil {
			return err
		}
		for _, e := range found {
			if i := slices.Index(ids, e[0]); i >= 0 {
				subjects[i].Name, subjects[i].PrincipalID = e[1], e[2]
			}
		}
	}
	return nil
}

// The statements about the webhook endpoints whose deliveries are counted.
const (
	selectEndpointsOfKey       = `select id from webhook_endpoints where organization = $1 and key_id = $2`
	selectEndpointsOfPrincipal = `select id from webhook_endpoints where organization = $1 and principal = $2`
	selectEndpointNames        = `select id, name, principal from webhook_endpoints where organization = $1 and id `
)
