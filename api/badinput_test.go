package api_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// contents returns all data that bad input must not change, as one text: contacts, events, stored
// responses, change clocks and the search index.
func contents(t testing.TB, d db.DB) string {
	t.Helper()
	var all strings.Builder
	err := d.Read(t.Context(), func(tx db.Tx) error {
		for _, query := range []string{
			`select id || ' ' || cast(revision as text) || ' ' || content from contacts order by id`,
			`select id || ' ' || type from events order by id`,
			`select key from idempotency order by key`,
			`select cast(tick as text) from clocks order by organization`,
			`select id || words from search_documents order by id`,
			`select postings from search_blocks order by segment, audience, rank, word, position`,
		} {
			rows, err := tx.Query(t.Context(), query)
			if err != nil {
				return err
			}
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					return err
				}
				fmt.Fprintln(&all, line)
			}
			rows.Close()
			if err := rows.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// bad is a bad request and its expected response.
type bad struct {
	name string
	wire apitest.Wire
	// status and code are expected in the response. code is empty if the HTTP server refuses the
	// request before the API sees it.
	status int
	code   string
	// fields are the expected field errors of the problem document. nil means that they are not
	// compared.
	fields []string
}

// refuse sends bad requests over real connections. It checks the responses, that no data has
// changed, and that the server still works.
func refuse(t *testing.T, s *apitest.Server, c *apitest.Client, requests []bad) {
	t.Helper()
	before := contents(t, s.DB)
	for _, b := range requests {
		t.Run(b.name, func(t *testing.T) {
			a := s.Send(c, b.wire)
			a.TB = t
			a.Want(b.status)
			if b.code != "" && b.wire.Method != "HEAD" {
				a.Want(b.status, b.code)
				checkHeaders(t, b.name, a)
			}
			if b.fields != nil {
				wantFields(t, a, b.fields...)
			}
			if len(a.Body) > 64<<10 {
				t.Errorf("the refusal has %d bytes", len(a.Body))
			}
		})
	}
	if after := contents(t, s.DB); after != before {
		t.Errorf("changed\n%s\nto\n%s", before, after)
	}
	if logged := s.Logged.String(); logged != "" {
		t.Errorf("the log has %s", logged)
	}
	s.Send(c, apitest.Wire{Method: "GET", Path: "/me"}).Want(200)
}

// chunked returns a body in the chunked transfer coding, with at most size bytes in a chunk.
func chunked(body string, size int) string {
	var b strings.Builder
	for chunk := range slices.Chunk([]byte(body), size) {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(chunk), chunk)
	}
	return b.String() + "0\r\n\r\n"
}

const oneMiB = 1 << 20

func TestBadBodies(t *testing.T) { each(t, badBodies) }

func badBodies(t *testing.T, o *apitest.Office) {
	c, s := o.As(access.Member), o.Listen()
	made := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	var requests []bad
	add := func(name string, status int, code string, body string, lines ...string) {
		b := bad{
			name:   name,
			wire:   apitest.Wire{Method: "POST", Path: "/contacts", Body: body, Lines: lines},
			status: status,
			code:   code,
		}
		requests = append(requests, b)
		// An error in a new record is the same error in a patch.
		b.name, b.wire.Method, b.wire.Path = name+", patch", "PATCH", "/contacts/"+made
		b.wire.Lines = append(slices.Clone(lines), "If-Match: *")
		requests = append(requests, b)
	}
	malformed := func(name, body string, lines ...string) { add(name, 400, "INVALID_REQUEST", body, lines...) }
	invalid := func(name, body string) { add(name, 422, "VALIDATION_FAILED", body) }

	filled := func(size int) string {
		body := `{"lastName":"A","note":"` + strings.Repeat("n", size)
		return body[:size-2] + `"}`
	}
	add("one byte too many", 413, "PAYLOAD_TOO_LARGE", filled(oneMiB+1))
	add("far too many", 413, "PAYLOAD_TOO_LARGE", filled(5*oneMiB))
	add("one byte too many in chunks", 413, "PAYLOAD_TOO_LARGE", chunked(filled(oneMiB+1), 4000),
		"Transfer-Encoding: chunked")
	add("far too many in chunks", 413, "PAYLOAD_TOO_LARGE", chunked(filled(5*oneMiB), 65536), "Transfer-Encoding: chunked")
	add("a length that is a lie", 413, "PAYLOAD_TOO_LARGE", "{}", "Content-Length: 1099511627776")
	invalid("as many as may be", filled(oneMiB))
	add("as many as may be in chunks", 422, "VALIDATION_FAILED", chunked(filled(oneMiB), 4000),
		"Transfer-Encoding: chunked")
	malformed("a bad chunk", "zz\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding: chunked")

	malformed("10,000 arrays deep", strings.Repeat("[", 10_000))
	malformed("10,000 objects deep", strings.Repeat(`{"a":`, 10_000))
	malformed("10,000 deep and closed", `{"lastName":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`)
	invalid("100 deep", `{"lastName":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`)
	invalid("10,000 wrong fields", object(10_000, func(i int) string { return fmt.Sprintf(`"wrong%d":%d`, i, i) }))
	invalid("10,000 wrong entries", `{"lastName":"A","tags":[`+strings.Repeat("1,", 9_999)+`1]}`)
	invalid("a name of 100,000 characters", `{"`+strings.Repeat("n", 100_000)+`":1}`)

	malformed("not UTF-8", "{\"lastName\":\"A\xff\"}")
	malformed("not UTF-8 in a name", "{\"last\xc3Name\":\"A\"}")
	malformed("overlong UTF-8", "{\"lastName\":\"\xc0\xaf\"}")
	malformed("half a surrogate in UTF-8", "{\"lastName\":\"\xed\xa0\x80\"}")
	malformed("half a surrogate escaped", `{"lastName":"\ud800"}`)
	malformed("UTF-16", "\xff\xfe{\x00}\x00")
	malformed("a byte order mark", "\xef\xbb\xbf{\"lastName\":\"A\"}")
	malformed("NUL between members", "{\"lastName\":\"A\",\x00\"email\":null}")
	malformed("a raw control character", "{\"lastName\":\"A\x01\"}")
	malformed("a raw newline", "{\"lastName\":\"A\n\"}")
	for _, c := range []string{`\u0000`, `\u0007`, `\u001f`, `\u007f`, `\u0085`, `\u009f`, `\n`, `\t`} {
		invalid("control character "+c, `{"lastName":"A`+c+`B"}`)
	}
	invalid("control character in a note", `{"lastName":"A","note":"A\u0000B"}`)
	invalid("control character in a tag", `{"lastName":"A","tags":["A\u0000B"]}`)
	invalid("only spaces", `{"lastName":"  \u00a0 "}`)

	malformed("a member twice", `{"lastName":"A","lastName":"B"}`)
	malformed("a member twice, once escaped", `{"lastName":"A","\u006castName":"B"}`)
	malformed("a member twice, deep", `{"lastName":"A","address":{"city":"A","city":"A"}}`)
	malformed("a wrong member twice", `{"x":1,"x":1}`)
	invalid("1e999", `{"lastName":1e999}`)
	invalid("-0", `{"lastName":-0}`)
	invalid("a long number", `{"lastName":`+strings.Repeat("9", 10_000)+`}`)
	for _, n := range []string{"01", "+1", ".5", "1.", "0x1", "NaN", "Infinity", "1e", "--1"} {
		malformed("no number: "+n, `{"lastName":`+n+`}`)
	}
	invalid("a string where an object belongs", `{"lastName":"A","address":"Köln"}`)
	invalid("an object where a string belongs", `{"lastName":{"a":1}}`)
	invalid("an object where a list belongs", `{"lastName":"A","tags":{}}`)
	for _, body := range []string{`"text"`, `[]`, `[{"lastName":"A"}]`, `5`, `true`, `null`} {
		malformed("no object: "+body, body)
	}
	for _, body := range []string{"", " ", "\r\n", "{", "}", `{"lastName":"A"`, `{"lastName":"A"}}`,
		`{"lastName":"A"} {}`, `{"lastName":"A",}`, `{lastName:"A"}`, `{'lastName':'A'}`,
		`{"lastName":"A"}/* */`, `{"lastName":"A" "email":1}`, `{"lastName"}`, `{"lastName":}`, "lastName=A",
		"<lastName>A</lastName>", `{"lastName":"\x"}`, `{"lastName":"\u12"}`, "{\"lastName\":\"A\"}\x00"} {
		malformed("malformed: "+strconv.Quote(body), body)
	}
	add("no body, no type", 415, "UNSUPPORTED_MEDIA_TYPE", "", "-Content-Type")

	refuse(t, s, c, requests)
}

// object returns a JSON object of n members.
func object(n int, member func(i int) string) string {
	members := make([]string, n)
	for i := range members {
		members[i] = member(i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestBadContentTypes(t *testing.T) {
	o := office(t)
	c, s := o.As(access.Member), o.Listen()
	var requests []bad
	add := func(name string, status int, code string, lines ...string) {
		requests = append(requests, bad{
			name:   name,
			wire:   apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"A"}`, Lines: lines},
			status: status,
			code:   code,
		})
	}
	add("none", 415, "UNSUPPORTED_MEDIA_TYPE", "-Content-Type")
	for _, value := range []string{"", "text/plain", "application/xml", "application/x-www-form-urlencoded",
		"multipart/form-data; boundary=x", "json", "application/json, application/json",
		"application/json; charset=iso-8859-1", "application/json; charset=utf-16", "application/jsonp", "*/*",
		"application/merge-patch+json", "application/json;;="} {
		add(strconv.Quote(value), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type: "+value)
	}
	add("repeated", 400, "INVALID_REQUEST", "Content-Type: application/json", "Content-Type: application/json")
	add("repeated, differing", 400, "INVALID_REQUEST", "Content-Type: application/json", "Content-Type: text/plain")
	for _, coding := range []string{"gzip", "br", "gzip, identity", "GZIP", ""} {
		add("Content-Encoding "+strconv.Quote(coding), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type: application/json",
			"Content-Encoding: "+coding)
	}
	refuse(t, s, c, requests)
	s.Send(c, apitest.Wire{
		Method: "POST",
		Path:   "/contacts",
		Body:   `{"lastName":"A"}`,
		Lines:  []string{"Content-Encoding: identity"},
	}).Want(201)
	form := s.Send(c, apitest.Wire{
		Method: "POST",
		Path:   "/documents",
		Body:   "--x--",
		Lines:  []string{"Content-Type: multipart/form-data; boundary=x"},
	}).Want(415, "UNSUPPORTED_MEDIA_TYPE")
	if detail := form.Text("detail"); !strings.Contains(detail, "POST /v1/uploads") {
		t.Errorf("a file sent with a form: %s", detail)
	}
	for _, value := range []string{
		"application/json", "application/json; charset=utf-8", `Application/JSON;charset="UTF-8"`,
	} {
		s.Send(c, apitest.Wire{
			Method: "POST",
			Path:   "/contacts",
			Body:   `{"lastName":"A"}`,
			Lines:  []string{"Content-Type: " + value},
		}).Want(201)
	}
}

func TestUnexpectedBodies(t *testing.T) {
	o := office(t)
	c, s := o.As(access.Member), o.Listen()
	made := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	var requests []bad
	for _, at := range []string{"/me", "/contacts", "/contacts/count", "/contacts/" + made, "/events", "/openapi.json"} {
		for _, method := range []string{"GET", "HEAD"} {
			requests = append(requests,
				bad{
					name:   method + at,
					wire:   apitest.Wire{Method: method, Path: at, Body: `{"q":"x"}`},
					status: 400,
					code:   "INVALID_REQUEST",
				},
				bad{
					name: method + at + " chunked",
					wire: apitest.Wire{
						Method: method,
						Path:   at,
						Body:   chunked("x", 1),
						Lines:  []string{"Transfer-Encoding: chunked"},
					},
					status: 400,
					code:   "INVALID_REQUEST",
				},
				bad{
					name:   method + at + " large",
					wire:   apitest.Wire{Method: method, Path: at, Body: strings.Repeat("x", 2*oneMiB)},
					status: 413,
					code:   "PAYLOAD_TOO_LARGE",
				})
		}
	}
	requests = append(requests, bad{
		name:   "DELETE",
		wire:   apitest.Wire{Method: "DELETE", Path: "/contacts/" + made, Body: `{}`, Lines: []string{"If-Match: *"}},
		status: 400,
		code:   "INVALID_REQUEST",
	})
	refuse(t, s, c, requests)
	for _, lines := range [][]string{
		{"Content-Length: 0"},
		{"Content-Type: application/json"},
		{"Transfer-Encoding: chunked"},
	} {
		w := apitest.Wire{Method: "GET", Path: "/contacts", Lines: lines}
		if strings.HasPrefix(lines[0], "Transfer") {
			w.Body = chunked("", 1)
		}
		s.Send(c, w).Want(200)
	}
}

func TestBadHeaders(t *testing.T) {
	o := office(t)
	c, s := o.As(access.Member), o.Listen()
	made := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	get := func(name string, status int, code string, lines ...string) bad {
		return bad{name: name, wire: apitest.Wire{Method: "GET", Path: "/contacts", Lines: lines}, status: status, code: code}
	}
	many := func(n int, line func(i int) string) (lines []string) {
		for i := range n {
			lines = append(lines, line(i))
		}
		return lines
	}
	bearer := "Authorization: Bearer " + c.Key
	patch := func(name, code string, lines ...string) bad {
		return bad{
			name:   name,
			wire:   apitest.Wire{Method: "PATCH", Path: "/contacts/" + made, Body: `{"lastName":"X"}`, Lines: lines},
			status: 400,
			code:   code,
		}
	}
	create := func(name string, lines ...string) bad {
		return bad{
			name:   name,
			wire:   apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"X"}`, Lines: lines},
			status: 400,
			code:   "INVALID_REQUEST",
		}
	}
	refuse(t, s, c, []bad{
		get("100 KiB", 400, "INVALID_REQUEST", "X-Long: "+strings.Repeat("x", 100<<10)),
		get("100 KiB Authorization", 400, "INVALID_REQUEST", "Authorization: Bearer "+strings.Repeat("x", 100<<10)),
		get("100 KiB name", 400, "INVALID_REQUEST", strings.Repeat("x", 100<<10)+": 1"),
		get("2 MiB", 431, "", "X-Long: "+strings.Repeat("x", 2*oneMiB)),
		get("1,000", 400, "INVALID_REQUEST", many(1000,
			func(i int) string { return fmt.Sprintf("X-Header-%d: %d", i, i) })...),
		get("1,000 of one name", 400, "INVALID_REQUEST",
			many(1000, func(i int) string { return fmt.Sprintf("Accept: %d", i) })...),
		get("1,000 languages", 400, "INVALID_REQUEST", many(1000, func(i int) string { return "Accept-Language: en" })...),
		get("two good Authorizations", 401, "UNAUTHENTICATED", bearer, bearer),
		get("a good and a bad Authorization", 401, "UNAUTHENTICATED", bearer, "Authorization: Bearer x"),
		get("a bad and a good Authorization", 401, "UNAUTHENTICATED", "Authorization: Basic x", bearer),
		get("an empty and a good Authorization", 401, "UNAUTHENTICATED", "Authorization:", bearer),
		get("Authorization with a control character", 400, "", bearer+"\x01"),
		get("a name with a space", 400, "", "X Folded: a"),
		get("no colon", 400, "", "nonsense"),
		get("two Svc-Versions", 400, "INVALID_REQUEST", "Svc-Version: 2026-11-01", "Svc-Version: 2026-11-01"),
		get("an empty Svc-Version", 400, "INVALID_REQUEST", "Svc-Version:"),
		get("two lengths", 400, "", "Content-Length: 1", "Content-Length: 2"),
		get("a negative length", 400, "", "Content-Length: -1"),
		get("two Hosts", 400, "", "Host: a", "Host: b"),
		get("no Host", 400, "", "-Host"),
		get("an unknown expectation", 417, "", "Expect: miracles"),
		get("an unknown transfer encoding", 501, "", "Transfer-Encoding: gzip"),
		get("two organizations", 403, "ORGANIZATION_MISMATCH", "Svc-Organization: "+o.SandboxID, "Svc-Organization: "+o.ID),
		patch("If-Match twice with a star", "INVALID_REQUEST", "If-Match: *", "If-Match: *"),
		patch("If-Match twice, a tag and a star", "INVALID_REQUEST", `If-Match: "r1"`, "If-Match: *"),
		patch("If-Match empty", "INVALID_REQUEST", "If-Match:"),
		patch("If-Match not a tag", "INVALID_REQUEST", "If-Match: r1"),
		create("Idempotency-Key twice", "Idempotency-Key: a", "Idempotency-Key: b"),
		create("Idempotency-Key twice the same", "Idempotency-Key: a", "Idempotency-Key: a"),
		create("Idempotency-Key empty", "Idempotency-Key:"),
		create("Idempotency-Key missing", "-Idempotency-Key"),
		create("Idempotency-Key of 256", "Idempotency-Key: "+strings.Repeat("k", 256)),
		create("Idempotency-Key not ASCII", "Idempotency-Key: schlüssel"),
		create("Idempotency-Key with a tab", "Idempotency-Key: a\tb"),
		create("Idempotency-Key open quote", `Idempotency-Key: "a`),
		create("Svc-Preview twice", "Svc-Preview: true", "Svc-Preview: true"),
	})
	// A list may span several headers (RFC 9110, section 5.3).
	s.Send(c, apitest.Wire{
		Method: "PATCH",
		Path:   "/contacts/" + made,
		Body:   `{"lastName":"X"}`,
		Lines:  []string{`If-Match: "r9"`, `If-Match: "r1"`},
	}).Want(200)
}

func TestBadIds(t *testing.T) { each(t, badIds) }

func badIds(t *testing.T, o *apitest.Office) {
	c, s := o.As(access.Member), o.Listen()
	made := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	event := c.Do("GET", "/events", nil).Want(200).Data()[0]["id"].(string)
	away, _ := o.Organization("Kanzlei Abendroth")
	user := o.User(access.Admin, away)
	foreign := &apitest.Client{Office: o, Principal: user, Key: o.Key(user)}
	theirs := foreign.Do("POST", "/contacts", `{"lastName":"Thal"}`).Want(201).Text("id")
	names := map[string]string{
		"unknown": id.New(id.Contact), "foreign": theirs, "an event": event, "the caller": c.Principal,
		"upper case":     strings.ToUpper(made),
		"another prefix": "cmp_" + made[4:], "no prefix": made[4:], "only prefix": "con_",
		"one too few": made[:len(made)-1], "one too many": made + "0",
		"not base32": made[:len(made)-1] + "u", "out of range": "con_8" + made[5:], "slash": made + "%2F",
		"a way up": "%2e%2e%2f" + made, "dot": "%2E", "dots": "%2e%2e",
		"slash alone": "%2F", "backslash": "..%5c" + made, "NUL": made + "%00", "not UTF-8": "%ff%fe",
		"newline": made + "%0A", "space": "%20" + made, "double encoded": "con%255F" + made[4:],
		"semicolon": made + ";v=1", "wildcard": "*", "quote": "'%20or%201=1--", "long": strings.Repeat("a", 10_000),
		"another script": "con_%D0%B0" + made[5:],
	}
	var requests []bad
	problems := map[string]string{}
	for name, id := range names {
		for _, family := range []string{"/contacts/", "/events/"} {
			if family == "/events/" && id == event {
				continue
			}
			at := family + id
			requests = append(requests, bad{
				name:   family + name,
				wire:   apitest.Wire{Method: "GET", Path: at},
				status: 404,
				code:   "NOT_FOUND",
			})
			problems[bare(s.Send(c, apitest.Wire{Method: "GET", Path: at})) /* dates differ */] = at
		}
		requests = append(requests,
			bad{
				name: "PATCH " + name,
				wire: apitest.Wire{
					Method: "PATCH",
					Path:   "/contacts/" + id,
					Body:   `{"lastName":"X"}`,
					Lines:  []string{"If-Match: *"},
				},
				status: 404,
				code:   "NOT_FOUND",
			},
			bad{
				name:   "DELETE " + name,
				wire:   apitest.Wire{Method: "DELETE", Path: "/contacts/" + id, Lines: []string{"If-Match: *"}},
				status: 404,
				code:   "NOT_FOUND",
			})
	}
	requests = append(requests,
		bad{name: "percent alone", wire: apitest.Wire{Method: "GET", Path: "/contacts/%"}, status: 400},
		bad{name: "no hex", wire: apitest.Wire{Method: "GET", Path: "/contacts/%zz"}, status: 400},
		bad{name: "empty", wire: apitest.Wire{Method: "GET", Path: "/contacts/"}, status: 404, code: "NOT_FOUND"},
		bad{name: "a way up", wire: apitest.Wire{Method: "GET", Path: "/contacts/../me"}, status: 404, code: "NOT_FOUND"},
	)
	refuse(t, s, c, requests)
	// A needlessly encoded id is the same id (RFC 3986, section 6.2.2.2).
	s.Send(c, apitest.Wire{Method: "GET", Path: "/contacts/%63on%5F" + made[4:]}).Want(200)
}

// TestForgedCursors changes every byte of a cursor, and uses valid cursors for other lists. It
// checks that all of these cursors are refused.
func TestForgedCursors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c, colleague := o.As(access.Member), o.As(access.Member)
		for i := range 5 {
			c.Do("POST", "/contacts", fmt.Sprintf(`{"lastName":"Berg %d"}`, i)).Want(201)
		}
		random := seed.Rand(t)
		lists := []string{
			"/contacts?limit=2", "/contacts?limit=2&sort=updatedAt", "/contacts?limit=2&updatedSince=2026-01-01T00:00:00Z",
			"/contacts?limit=2&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true", "/contacts?limit=2&q=berg",
			"/contacts?limit=2&q=ber",
			"/events?limit=2", "/events?limit=2&sort=createdAt", "/events?limit=2&createdSince=2026-01-01T00:00:00Z",
		}
		cursors := make([]string, len(lists))
		for i, list := range lists {
			cursors[i] = c.Do("GET", list, nil).Want(200).Text("nextCursor")
			if cursors[i] == "" {
				t.Fatalf("%s has no next page", list)
			}
		}
		for i, list := range lists {
			at := func(cursor string) string { return list + "&cursor=" + cursor }
			c.Do("GET", at(cursors[i]), nil).Want(200)
			colleague.Do("GET", at(cursors[i]), nil).Want(400, "CURSOR_MISMATCH")
			for j, other := range cursors {
				if j != i {
					c.Do("GET", at(other), nil).Want(400, "CURSOR_MISMATCH")
				}
			}
			c.Do("GET", at(""), nil).Want(400, "INVALID_REQUEST")
			for _, forged := range []string{"x", "AAAA", strings.Repeat("A", 4096), cursors[i] + "A",
				cursors[i] + cursors[i], cursors[i] + "%3D", "%20" + cursors[i],
				base64.RawURLEncoding.EncodeToString([]byte(`{"t":1}`)), strings.Repeat("A", len(cursors[i]))} {
				if len(forged) > 4096 {
					continue
				}
				c.Do("GET", at(forged), nil).Want(400, "CURSOR_MISMATCH")
			}
			c.Do("GET", at(strings.Repeat("A", 4097)), nil).Want(400, "INVALID_REQUEST")
			wantFields(t, c.Do("GET", at(cursors[i]+"&cursor="+cursors[i]), nil).Want(400, "INVALID_REQUEST"),
				"cursor DUPLICATE")
			for n := range len(cursors[i]) {
				b := []byte(cursors[i])
				for b[n] == cursors[i][n] {
					b[n] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[random.IntN(64)]
				}
				c.Do("GET", at(string(b)), nil).Want(400, "CURSOR_MISMATCH")
				if n > 0 {
					c.Do("GET", at(cursors[i][:n]), nil).Want(400, "CURSOR_MISMATCH")
				}
			}
		}
		o.Clock.Advance(24 * time.Hour)
		for i, list := range lists {
			c.Do("GET", list+"&cursor="+cursors[i], nil).Want(200)
		}
		o.Clock.Advance(time.Microsecond)
		for i, list := range lists {
			c.Do("GET", list+"&cursor="+cursors[i], nil).Want(400, "CURSOR_MISMATCH")
		}
	})
}

func TestBadQueries(t *testing.T) { each(t, badQueries) }

func badQueries(t *testing.T, o *apitest.Office) {
	c, s := o.As(access.Member), o.Listen()
	c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	var requests []bad
	add := func(query string, fields ...string) {
		requests = append(requests, bad{
			name:   query[:min(len(query), 60)],
			wire:   apitest.Wire{Method: "GET", Path: "/contacts?" + query},
			status: 400,
			code:   "INVALID_REQUEST",
			fields: fields,
		})
	}
	for _, at := range []string{
		"0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "2026-11-01T00:00:00%2B25:00",
		"2026-11-01T00:00:00-24:00", "2026-11-01T00:00:00%2B01:60",
		"2026-11-01T23:59:61Z", "9999-12-31T23:59:60Z", "2026-11-01T24:00:00Z", "2026-13-01T00:00:00Z",
		"2026-02-29T00:00:00Z", "2026-11-01", "2026-11-01T00:00:00", "2026-11-01%2000:00:00Z",
		"2026-11-01_00:00:00Z", "2026-11-01T00:00:00,5Z", "2026-11-01T0:00:00Z", "2026-11-01T00:00:00.Z", "1761955200",
		"now", "", "2026-11-01T00:00:00%2b01", "2026-11-01T00:00:00%2b2500", "2026-11-01T00:00:00%2b0160",
		"2026-11-01T00:00:00+01:00",
		// in UTC the year of these times is below 1 or above 9999, or a digit is not ASCII
		"%D9%A2026-11-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00%2B23:59",
		"2026-11-01T00:00:00Z%00", "2026-11-01T00:00:00Z%20",
	} {
		add("updatedSince="+at, "updatedSince INVALID_FORMAT")
	}
	for _, limit := range []string{"0", "101", "-1", "99999999999999999999", "-0"} {
		code := "OUT_OF_RANGE"
		if limit == "-0" {
			code = "INVALID_FORMAT"
		}
		add("limit="+limit, "limit "+code)
	}
	for _, limit := range []string{"", "x", "1.0", "1e1", "%2B5", "05", "0x10", "%D9%A5", "5%20", "null", "true"} {
		add("limit="+limit, "limit INVALID_FORMAT")
	}
	for _, sort := range []string{"", "createdAt", "updatedat", "-updatedAt,updatedAt", "%2DupdatedAt%00", "+updatedAt"} {
		code := "sort NOT_IN_ENUM"
		if strings.Contains(sort, "%00") {
			code = "sort INVALID_FORMAT"
		}
		add("sort="+sort, code)
	}
	for _, value := range []string{"", "True", "1", "yes", "TRUE", "null"} {
		add("updatedSince=2026-11-01T00:00:00Z&includeDeleted="+value, "includeDeleted INVALID_FORMAT")
	}
	add("q=", "q TOO_SHORT")
	add("q="+strings.Repeat("x", 201), "q TOO_LONG")
	add("q="+strings.Repeat("%C3%A4", 201), "q TOO_LONG")
	add("q=%00", "q INVALID_FORMAT")
	add("q=a%0Ab", "q INVALID_FORMAT")
	add("q=%ff", "q INVALID_FORMAT")
	add("q=%C3", "q INVALID_FORMAT")
	add("q=%ED%A0%80", "q INVALID_FORMAT")
	add("q=%", "q INVALID_FORMAT")
	add("q=%4", "q INVALID_FORMAT")
	add("q=%zz", "q INVALID_FORMAT")
	add("q=a&updatedSince=2026-11-01T00:00:00Z&sort=updatedAt&includeDeleted=true",
		"updatedSince FORBIDDEN_COMBINATION", "sort FORBIDDEN_COMBINATION", "includeDeleted FORBIDDEN_COMBINATION")
	add("q=a&sort=-updatedAt", "sort FORBIDDEN_COMBINATION")
	add("q=a&includeDeleted=false", "includeDeleted FORBIDDEN_COMBINATION")
	add("includeDeleted=true", "includeDeleted FORBIDDEN_COMBINATION")
	add("limit=0&sort=x&updatedSince=y", "limit OUT_OF_RANGE", "sort NOT_IN_ENUM", "updatedSince INVALID_FORMAT")
	add("limit=5&limit=5", "limit DUPLICATE")
	add("limit=5&%6Cimit=6", "limit DUPLICATE")
	add("limit=5&limit=5&limit=5&q=%zz", "limit DUPLICATE", "q INVALID_FORMAT")
	requests = append(requests,
		bad{
			name:   "10,000 parameters",
			wire:   apitest.Wire{Method: "GET", Path: "/contacts?" + strings.Repeat("a=1&", 10_000)},
			status: 400,
			code:   "UNKNOWN_PARAMETER",
			fields: []string{"a UNKNOWN_FIELD"},
		},
		bad{
			name: "10,000 different parameters",
			wire: apitest.Wire{
				Method: "GET",
				Path:   "/contacts?" + strings.Trim(object(10_000, func(i int) string { return fmt.Sprintf("p%d", i) }), "{}"),
			},
			status: 400,
			code:   "UNKNOWN_PARAMETER",
		},
		bad{
			name:   "a long name",
			wire:   apitest.Wire{Method: "GET", Path: "/contacts?" + strings.Repeat("n", 100_000)},
			status: 400,
			code:   "UNKNOWN_PARAMETER",
		},
		bad{
			name:   "count with limit",
			wire:   apitest.Wire{Method: "GET", Path: "/contacts/count?limit=5"},
			status: 400,
			code:   "UNKNOWN_PARAMETER",
		},
		bad{
			name:   "semicolons",
			wire:   apitest.Wire{Method: "GET", Path: "/contacts?limit=5;sort=updatedAt"},
			status: 400,
			code:   "INVALID_REQUEST",
			fields: []string{"limit INVALID_FORMAT"},
		},
		bad{
			name:   "filter language",
			wire:   apitest.Wire{Method: "GET", Path: "/contacts?filter[lastName]=A"},
			status: 400,
			code:   "UNKNOWN_PARAMETER",
		},
		bad{
			name:   "fragment",
			wire:   apitest.Wire{Method: "GET", Path: "/contacts?limit=5#x"},
			status: 400,
			code:   "INVALID_REQUEST",
		},
	)
	refuse(t, s, c, requests)

	// Values at the limits are allowed.
	for query, want := range map[string]int{
		"updatedSince=2100-01-01T00:00:00Z": 0, "updatedSince=9999-12-31T23:59:59.999999Z": 0,
		"updatedSince=0001-01-01T00:00:00Z":                    1,
		"updatedSince=2026-11-01T00:00:00.123456789123456789Z": 1, "updatedSince=2026-11-01T00:00:00%2B23:59": 1,
		"updatedSince=2024-02-29T00:00:00-00:00": 1, "&&limit=1&": 1, "": 1,
		"q=" + strings.Repeat("%C3%A4", 200): 0, "q=%F0%9F%98%80": 0, "q=%20": 0, "q=*": 0, "q=%22": 0, "q=%25": 0,
		"q=berg%20OR%20x": 0, "q=%27%3B--": 0, "q=" + strings.Repeat("a%20", 100) + "": 0,
	} {
		a := s.Send(c, apitest.Wire{Method: "GET", Path: "/contacts?" + query})
		if a.Status != 200 {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
			continue
		}
		if strings.HasPrefix(query, "q=%") && query != "q="+strings.Repeat("%C3%A4", 200) {
			continue // a query without words may have any response
		}
		if got := len(a.Data()); got != want {
			t.Errorf("%s: %d records, want %d", query, got, want)
		}
	}
}

func TestBadDates(t *testing.T) {
	o := office(t)
	c, s := o.As(access.Member), o.Listen()
	var requests []bad
	for _, day := range []string{
		"0000-01-01", "10000-01-01", "2023-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "2026-1-1",
		"26-01-01", "01.02.2026", "2026-01-01T00:00:00Z", " 2026-01-01", "2026-01-01 ", "-001-01-01",
		"２０２６-01-01",
	} {
		requests = append(requests, bad{name: day, status: 422, code: "VALIDATION_FAILED",
			fields: []string{"birthday INVALID_FORMAT"},
			wire:   apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"A","birthday":"` + day + `"}`}})
	}
	refuse(t, s, c, requests)
	for _, day := range []string{"0001-01-01", "9999-12-31", "2024-02-29"} {
		s.Send(c, apitest.Wire{
			Method: "POST", Path: "/contacts", Body: `{"lastName":"A","birthday":"` + day + `"}`,
		}).Want(201)
	}
}

func TestBadKeys(t *testing.T) {
	o := office(t)
	c, s := o.As(access.Member), o.Listen()
	var requests []bad
	add := func(name string, lines ...string) {
		for _, method := range []string{"GET", "HEAD"} {
			requests = append(requests, bad{
				name:   method + " " + name,
				wire:   apitest.Wire{Method: method, Path: "/contacts", Lines: lines},
				status: 401,
				code:   "UNAUTHENTICATED",
			})
		}
	}
	for n := range len(c.Key) {
		add(fmt.Sprintf("cut to %d", n), "Authorization: Bearer "+c.Key[:n])
	}
	for n := range len(c.Key) {
		changed := []byte(c.Key)
		changed[n] ^= 1
		add(fmt.Sprintf("changed at %d", n), "Authorization: Bearer "+string(changed))
	}
	add("checksum of another", "Authorization: Bearer "+c.Key[:len(c.Key)-6]+resealed(c.Key, 12)[len(c.Key)-6:])
	add("longer", "Authorization: Bearer "+c.Key+"0")
	add("a space inside", "Authorization: Bearer "+c.Key[:30]+" "+c.Key[30:])
	add("a tab before", "Authorization: Bearer\t"+c.Key)
	add("quoted", `Authorization: Bearer "`+c.Key+`"`)
	add("no scheme", "Authorization: "+c.Key)
	add("basic", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(c.Key+":")))
	add("in another header", "-Authorization", "X-Api-Key: "+c.Key)
	add("in a cookie", "-Authorization", "Cookie: key="+c.Key)
	for _, query := range []string{"?key=", "?api_key=", "?access_token=", "?token=", "?Authorization=Bearer%20"} {
		requests = append(requests,
			bad{
				name:   "in the query " + query,
				wire:   apitest.Wire{Method: "GET", Path: "/contacts" + query + c.Key, Lines: []string{"-Authorization"}},
				status: 401,
				code:   "UNAUTHENTICATED",
			},
			bad{
				name:   "in the query too " + query,
				wire:   apitest.Wire{Method: "GET", Path: "/contacts" + query + c.Key},
				status: 400,
				code:   "UNKNOWN_PARAMETER",
			})
	}
	refuse(t, s, c, requests)
	for _, line := range []string{"Authorization: bearer " + c.Key, "AUTHORIZATION: BEARER   " + c.Key + "  "} {
		s.Send(c, apitest.Wire{Method: "GET", Path: "/contacts", Lines: []string{line}}).Want(200)
	}
	// The operator's log must not contain the key.
	if err := o.Log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(o.Logged.String(), c.Key) {
		t.Error("a key is in the operator's log")
	}
}

// TestExpiredKey checks that a key works until the microsecond before its expiry, and not after.
func TestExpiredKey(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	expires, err := clock.Parse(c.Do("GET", "/me", nil).Want(200).JSON()["key"].(map[string]any)["expiresAt"].(string))
	if err != nil {
		t.Fatal(err)
	}
	left := time.Duration(expires-clock.FromTime(o.Clock.Now())) * time.Microsecond
	o.Clock.Advance(left - time.Microsecond)
	c.Do("GET", "/me", nil).Want(200)
	o.Clock.Advance(time.Microsecond)
	c.Do("GET", "/me", nil).Want(401, "UNAUTHENTICATED")
}
