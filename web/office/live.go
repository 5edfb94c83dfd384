package office

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"kartei/api"
	"kartei/kit/fault"
	"kartei/record"
)

// liveWrite is how long a browser may take to accept a line of the stream.
const liveWrite = 10 * time.Second

// showLive is the stream that tells a browser in which families something has
// changed. A line has the words of the families and a counter: no ids, no names.
// Every 25 seconds an empty line says that the stream lives.
func showLive(v *request) view {
	control := http.NewResponseController(v.w)
	lines := 0
	renew := func() error {
		if err := control.SetWriteDeadline(time.Now().Add(liveWrite)); !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		return nil
	}
	err := v.office.API.Watch(v.Context(), api.Cookie(v.token, v.sandbox), v.office.Address(v.Request), func(families []string) error {
		if err := renew(); err != nil {
			return err
		}
		if lines++; lines == 1 {
			h := v.w.Header()
			h.Set("Content-Type", "text/event-stream; charset=utf-8")
			h.Set("X-Accel-Buffering", "no") // nginx would keep the lines
			v.w.WriteHeader(http.StatusOK)
		}
		line := ":\n\n"
		if len(families) > 0 {
			line = fmt.Sprintf("id: %d\ndata: %s\n\n", lines, strings.Join(families, " "))
		}
		if _, err := v.w.Write([]byte(line)); err != nil {
			return err
		}
		return control.Flush()
	})
	if lines > 0 { // the browser connects again, and a refusal then says why
		_ = renew() // for the closing chunk: the last line may be older; a closed connection needs none
		return view{sent: true}
	}
	f := asFault(err)
	v.retryAfter(f.Wait())
	if err == nil { // the process ends
		f.Code = fault.Overloaded
	}
	return view{status: f.Code.Status()}
}

// live are the families that a page shows: a list its own, other pages all. The request
// log counts as one while it is followed, and so does an import.
func (v *request) live(here string) string {
	f := familyOf(here)
	switch {
	case v.follows():
		return "requests"
	case v.page.Path == importPath && v.Method == http.MethodGet:
		return "imports"
	case v.Method != http.MethodGet || here != "today" && f == nil || strings.HasSuffix(v.page.Path, "/new"):
		return ""
	case f != nil && !strings.Contains(v.page.Path, "{"):
		return f.name
	}
	var all []string
	for _, f := range families {
		if v.session.may(f.read) {
			all = append(all, f.name)
		}
	}
	return strings.Join(all, " ")
}

// refreshing reports whether a script loads the content of its page anew because
// something has changed. No person does that, so it keeps no session alive.
func (v *request) refreshing() bool { return v.Header.Get("Kartei-Live") != "" }

// unchanged draws a page that a script loads anew. The answer is empty if the script
// has the same content already. Its tag leaves out the parts that differ in every
// answer.
func (v *request) unchanged(out view) view {
	var b bytes.Buffer
	if err := out.body.Render(v.Context(), &b); err != nil {
		return v.failed(err)
	}
	page := b.Bytes()
	if i := bytes.Index(page, []byte("<main")); i >= 0 {
		page = page[i:]
	}
	if i := bytes.Index(page, []byte("</main>")); i >= 0 {
		page = page[:i]
	}
	sum := sha256.Sum256(everNew.ReplaceAll(page, nil))
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	v.w.Header().Set("ETag", tag)
	if v.Header.Get("If-None-Match") == tag {
		return view{status: http.StatusNotModified}
	}
	return view{status: out.status, body: drawn(b.Bytes())}
}

// everNew are the parts of a page that differ in every answer: nonces, tokens of
// forms, and for how long a sign-in is recent.
var everNew = regexp.MustCompile(` (?:(?:hx-nonce|data-token|data-drop)="[^"]*"|name="form-token" value="[^"]*")`)

// drawn is a component that is drawn already.
type drawn []byte

// Render writes it.
func (d drawn) Render(_ context.Context, w io.Writer) error {
	_, err := w.Write(d)
	return err
}

// showNews says what was changed in a record while a form of it is open. It leaves
// the form as it is.
func showNews(v *request) view {
	id := v.PathValue("id")
	prefix, _, _ := strings.Cut(id, "_")
	f := familyOf(strings.Trim(pathsByPrefix[prefix], "/"))
	if f == nil {
		return v.failed(fault.New(fault.NotFound))
	}
	all, _, err := v.history(id)
	if err != nil {
		return v.failed(err)
	}
	seen := revisionOf(values{"revision": first(v.URL.Query().Get("since"), "0")})
	var list []record.Change
	for _, c := range all {
		if c.Revision > seen {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return view{status: http.StatusNoContent}
	}
	names := map[string]string{}
	if err := v.namesOf(people(list), names); err != nil {
		return v.failed(err)
	}
	return view{status: http.StatusOK, body: newsView(v, f, id, list, names)}
}

// newsOf says who changed which members, in one sentence.
func (v *request) newsOf(f *family, list []record.Change, names map[string]string) string {
	who, members := list[0].Principal, []string{}
	for _, c := range list {
		if c.Act == "deleted" {
			return v.words.Say("Dieser Eintrag wurde gerade gelöscht. Was Sie eingegeben haben, bleibt stehen.", "This entry was just deleted. What you entered stays here.")
		}
		if c.Principal != who {
			who = ""
		}
		members = append(members, c.Members...)
	}
	name := first(names[who], v.words.Say("Jemand", "Somebody"))
	what := v.labels(f, unique(members))
	if len(members) == 0 {
		what = v.words.Say("diesen Eintrag", "this entry")
	}
	return v.words.Say(name+" hat gerade "+what+" geändert.", name+" has just changed "+what+".")
}
