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

// liveWrite is how long a browser may take to accept a line of the stream.
const liveWrite = 10 * time.Second

// showLive is the stream that tells a browser in which families something has
// changed. A line has the words of the families and a counter: no ids, no names.
// Every 25 seconds an empty line says that the stream lives.
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
			h.Set("X-Accel-Buffering", "no") // nginx would keep the lines
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
	if lines > 0 { // the browser connects again, and a refusal then says why
		_ = renew() // for the closing chunk: the last line may be older; a closed connection needs none
		return stream{}
	}
	f := AsFault(err)
	v.RetryAfter(f.Wait())
	if err == nil { // the process ends
		f.Code = fault.Overloaded
	}
	return Status(f.Code.Status())
}

// refreshing reports whether a script loads the content of its page anew because
// something has changed. No person does that, so it keeps no session alive.
func (v *Request) refreshing() bool { return v.Header.Get("Kartei-Live") != "" }

// refresh answers a script that loads a page anew. The answer is empty if the script
// has the same content already. Its tag leaves out the parts that differ in every
// answer.
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

// everNew are the parts of a page that differ in every answer: nonces, tokens of
// forms, and for how long a sign-in is recent.
var everNew = regexp.MustCompile(` (?:(?:hx-nonce|data-token|data-drop)="[^"]*"|name="form-token" value="[^"]*")`)

// rendering is a component that is drawn already.
type rendering []byte

// Render writes it.
func (d rendering) Render(_ context.Context, w io.Writer) error {
	_, err := w.Write(d)
	return err
}
