package shell

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
)

// liveWrite is the maximum time for writing one event of the stream to the browser.
const liveWrite = 10 * time.Second

// showLive serves a stream of server-sent events. Each event has the names of the families whose
// records have changed, and a counter. It has no ids and no names of records. Every 25 seconds an
// empty comment shows that the connection is alive.
func showLive(v *Request) View {
	control := http.NewResponseController(v.Writer)
	lines := 0
	renew := func() error {
		if err := control.SetWriteDeadline(time.Now().Add(liveWrite)); !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		return nil
	}
	err := v.Site.API.Watch(v.Context(), api.Cookie(v.Token, v.Sandbox), v.Site.Address(v.Request), func(families []string) error {
		if err := renew(); err != nil {
			return err
		}
		if lines++; lines == 1 {
			h := v.Writer.Header()
			h.Set("Content-Type", "text/event-stream; charset=utf-8")
			h.Set("X-Accel-Buffering", "no") // nginx would buffer the events
			v.Writer.WriteHeader(http.StatusOK)
		}
		line := ":\n\n"
		if len(families) > 0 {
			line = fmt.Sprintf("id: %d\ndata: %s\n\n", lines, strings.Join(families, " "))
		}
		if _, err := v.Writer.Write([]byte(line)); err != nil {
			return err
		}
		return control.Flush()
	})
	if lines > 0 { // the browser connects again, and the next refusal has the reason
		_ = renew() // for the final chunk, as the deadline of the last event may have passed; a closed connection needs no deadline
		return stream{}
	}
	f := AsFault(err)
	v.RetryAfter(f.Wait())
	if err == nil { // the process shuts down
		f.Code = fault.Overloaded
	}
	return Status(f.Code.Status())
}

// refreshing reports whether a script reloads the content of its page after a change of data. As no
// person sends this request, it does not extend the session.
func (v *Request) refreshing() bool { return v.Header.Get("Kartei-Live") != "" }

// refresh sends the page to a script that reloads it. If the ETag matches the request, the response
// is 304 without a body. The ETag does not cover the parts that differ in each response.
func (v *Request) refresh(p HTML) {
	var b bytes.Buffer
	if err := p.Body.Render(v.Context(), &b); err != nil {
		v.Failed(err).answer(v)
		return
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
	v.Writer.Header().Set("ETag", tag)
	if v.Header.Get("If-None-Match") == tag {
		Status(http.StatusNotModified).answer(v)
		return
	}
	p.Body = rendering(b.Bytes())
	p.send(v)
}

// everNew matches the parts of a page that differ in each response: nonces, form tokens, and the
// time until which a sign-in is recent.
var everNew = regexp.MustCompile(` (?:(?:hx-nonce|data-token|data-drop)="[^"]*"|name="form-token" value="[^"]*")`)

// rendering is a component that has been rendered to bytes.
type rendering []byte

// Render writes the bytes.
func (d rendering) Render(_ context.Context, w io.Writer) error {
	_, err := w.Write(d)
	return err
}
