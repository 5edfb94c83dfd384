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
	// maxDays is the maximum length of a report by day, in days. maxHourly is the maximum length of
	// a report by hour, also in days.
	maxDays, maxHourly = 91, 14
	defaultDays        = 30
	// maxSubjects is the maximum number of keys or endpoints in a report. limitsShown is the
	// maximum number of keys whose limits are read. Keys with more calls come first.
	maxSubjects, limitsShown = 200, 20
)

// Input is the input of Get.
type Input struct {
	Organization string `json:"organizationId,omitempty"`
	// Key is the id of a key, or the short form of its kid. Empty means all keys that the caller
	// administers.
	Key string `json:"key,omitempty"`
	// Days is the length of the period that ends now, from 1 to 91. Zero means 30.
	Days int `json:"days,omitempty"`
	// By is hour or day. Empty means day. A report by hour has at most 14 days.
	By string `json:"by,omitempty"`
	// Zone is the time zone of the days. Empty means UTC. An hour belongs to the day in which it
	// begins.
	Zone string `json:"zone,omitempty"`
}

// Report has the numbers of calls of keys and of deliveries to webhook endpoints. It also has the
// remaining amounts of limits.
type Report struct {
	From  clock.Micros `json:"from"`
	Until clock.Micros `json:"until"`
	// Calls counts the calls of keys. Deliveries counts the attempts at webhook endpoints.
	Calls      Series `json:"calls"`
	Deliveries Series `json:"deliveries"`
	// Metered says that limits are enforced. Limits are the limits of the key in the input, or of
	// the keys with the most calls.
	Metered bool        `json:"metered"`
	Limits  []KeyLimits `json:"limits"`
}

// Series has counts by time and by subject.
type Series struct {
	Total Sum `json:"total"`
	// Points are the days or hours of the whole period, including points without calls.
	Points []Point `json:"points"`
	// Subjects are the keys or the endpoints. Subjects with more calls come first.
	Subjects []Entry `json:"subjects"`
}

// Sum has the counts of a period.
type Sum struct {
	Counts
	// P50Micros and P95Micros are the median and the 95th percentile of the durations, in
	// microseconds. They are estimates (see Latency).
	P50Micros int64 `json:"p50Micros"`
	P95Micros int64 `json:"p95Micros"`
}

// Point has the counts of a day or an hour.
type Point struct {
	Start clock.Micros `json:"start"`
	Sum
}

// Entry has the counts of a key or a webhook endpoint.
type Entry struct {
	ID string `json:"id"`
	// Name and PrincipalID are empty for an endpoint that was deleted.
	Name        string `json:"name"`
	PrincipalID string `json:"principalId"`
	// KidShort and Environment are set for a key, and empty for an endpoint.
	KidShort    string `json:"kidShort,omitempty"`
	Environment string `json:"environment,omitempty"`
	// LimitedAt is the last hour in which a call was refused with 429. It is null if no call was
	// refused.
	LimitedAt clock.Micros `json:"limitedAt"`
	Sum
}

// KeyLimits has the state of the limits of a key. It includes the limits that the key shares with
// its principal and its organization.
type KeyLimits struct {
	KeyID    string              `json:"keyId"`
	KidShort string              `json:"kidShort"`
	Name     string              `json:"name"`
	Policies []key.PolicyBalance `json:"policies"`
}

// Flush writes the queued entries of the request log. It may be nil.
var Flush = op.Need[func(ctx context.Context) error]("request log")

// Get is the operation that returns the usage of keys and endpoints, and the state of the limits of
// keys.
var Get = op.NewPrefetched("usage.get", op.Read, prefetch, get, op.By(op.Self|op.Operator))

func get(_ context.Context, _ *op.Call, _ Input, u Report) (Report, error) { return u, nil }

// prefetch reads the counts and the limits. It runs before the transaction, because reading limits
// may take other transactions, even of other replicas. A caller who does not administer the
// organization gets their own keys and endpoints.
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

// limitsOf returns the state of the limits of a key. It charges nothing.
func limitsOf(ctx context.Context, limiter limit.Limiter, k key.Info) (KeyLimits, error) {
	statuses, err := limiter.Status(ctx, limit.Charge{Organization: k.Number(), Principal: k.PrincipalID, Key: k.ID})
	l := KeyLimits{KeyID: k.ID, KidShort: k.KidShort, Name: k.Name}
	for i := range statuses {
		l.Policies = append(l.Policies, key.LeftOf(&statuses[i]))
	}
	return l, err
}

// read returns the counts, and the keys that are active or paused. Keys with more calls come first.
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

// span returns the number of days and the time zone of the input. It fails if the input is not
// valid.
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

// starts returns the beginnings of the days or hours. The last one is not over. If midnight is not
// at a whole hour of UTC, the day begins at the next whole hour.
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

// hour returns the beginning of the hour of t.
func hour(t clock.Micros) clock.Micros { return t - t%clock.Hour }

// sight says which keys and endpoints a caller sees. nil means all keys, or all endpoints.
type sight struct {
	numbers         []int64
	keys, endpoints []string
	key             key.Info
}

// sightOf returns the sight of the caller, limited by the input.
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

// series reads the counts of one kind by time and by subject.
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

// estimate sets P50Micros and P95Micros.
func (s *Sum) estimate() {
	s.P50Micros, s.P95Micros = s.Took.Quantile(0.5).Microseconds(), s.Took.Quantile(0.95).Microseconds()
}

// nameKeys sets the names of the keys among the subjects, and returns these keys.
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

// nameEndpoints sets the names of the webhook endpoints among the subjects.
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

// The SQL statements for the webhook endpoints in a report.
const (
	selectEndpointsOfKey       = `select id from webhook_endpoints where organization = $1 and key_id = $2`
	selectEndpointsOfPrincipal = `select id from webhook_endpoints where organization = $1 and principal = $2`
	selectEndpointNames        = `select id, name, principal from webhook_endpoints where organization = $1 and id `
)
