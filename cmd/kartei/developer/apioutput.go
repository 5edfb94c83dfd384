package developer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kartei/cmd/kartei/command"
	"kartei/cmd/remote"

	"github.com/dunglas/httpsfv"
	"github.com/mattn/go-isatty"
)

// apiOutput writes the responses of kartei api.
type apiOutput struct {
	*command.Globals
	include bool
	file    string
	// records says that standard output must contain only records.
	records bool
}

// maxPretty is the maximum size of JSON that is indented for a terminal, in bytes.
const maxPretty = 32 << 20

// record prints a record on one line.
func (o *apiOutput) record(r json.RawMessage) error {
	var line bytes.Buffer
	if err := json.Compact(&line, r); err != nil {
		return err
	}
	return o.write(append(line.Bytes(), '\n'))
}

// write writes to standard output. It removes control characters if that is a terminal.
func (o *apiOutput) write(b []byte) error {
	if o.terminal() {
		b = []byte(remote.Plain(string(b)))
	}
	_, err := o.Out.Write(b)
	return err
}

// terminal reports whether standard output is a terminal.
func (o *apiOutput) terminal() bool {
	f, is := o.Out.(*os.File)
	return is && isatty.IsTerminal(f.Fd())
}

// answer prints or saves a successful response.
func (o *apiOutput) answer(r *http.Response) error {
	if err := o.head(r); err != nil {
		return err
	}
	if o.file != "" && o.file != "-" {
		return o.save(r)
	}
	if !o.terminal() {
		return o.stream(o.Out, r)
	}
	if !isText(r.Header) {
		return fmt.Errorf("the answer is a file of the type %s; save it with --output FILE",
			remote.Plain(r.Header.Get("Content-Type")))
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxPretty))
	if err != nil {
		return err
	}
	return o.pretty(b)
}

// head prints the status and the headers of a response if --include is set.
func (o *apiOutput) head(r *http.Response) error {
	if !o.include {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Proto, r.Status)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	return o.write([]byte(b.String() + "\n"))
}

// stream copies the body of a response to w. It returns an error if the body does not match the
// digest in the headers.
func (o *apiOutput) stream(w io.Writer, r *http.Response) error {
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, hash), r.Body); err != nil {
		return err
	}
	if want := digest(r); want != nil && !bytes.Equal(want, hash.Sum(nil)) {
		return &remote.NoAnswerError{
			Err:  errors.New("the file arrived damaged: its digest differs from the one that the instance sent"),
			Sent: true,
		}
	}
	return nil
}

// digest returns the SHA-256 from the header Repr-Digest (RFC 9530). It returns nil if the header
// is missing or the body is not the whole representation.
func digest(r *http.Response) []byte {
	if r.StatusCode != http.StatusOK || r.Request.Method == http.MethodHead || r.Uncompressed {
		return nil
	}
	dict, err := httpsfv.UnmarshalDictionary(r.Header.Values("Repr-Digest"))
	if err != nil {
		return nil
	}
	member, _ := dict.Get("sha-256")
	item, _ := member.(httpsfv.Item)
	sum, _ := item.Value.([]byte)
	return sum
}

// save writes the body to a temporary file in the target's folder, and renames the file once it is
// complete. Only its owner can read the file, because it may be under professional secrecy.
func (o *apiOutput) save(r *http.Response) (err error) {
	part, err := os.CreateTemp(filepath.Dir(o.file), "."+filepath.Base(o.file)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			part.Close()
			os.Remove(part.Name())
		}
	}()
	if err := o.stream(part, r); err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		return err
	}
	return os.Rename(part.Name(), o.file)
}

// refusal prints the body of an error response on standard output, as gh does. It prints nothing if
// standard output must contain only records. The body is not written to the file of --output.
func (o *apiOutput) refusal(err error) {
	refused := new(remote.Refusal)
	if !errors.As(err, &refused) || o.records || refused.Answer == nil {
		return
	}
	_ = o.head(refused.Answer)
	if !o.terminal() {
		_, _ = o.Out.Write(refused.Body)
		return
	}
	if isText(refused.Answer.Header) {
		_ = o.pretty(refused.Body)
	}
}

// pretty prints indented JSON, or other text unchanged.
func (o *apiOutput) pretty(b []byte) error {
	var lines bytes.Buffer
	if json.Indent(&lines, b, "", "  ") == nil {
		b = lines.Bytes()
	}
	if len(b) == 0 {
		return nil
	}
	return o.write(append(bytes.TrimSuffix(b, []byte("\n")), '\n'))
}

// isText reports whether a terminal can show a body with these headers.
func isText(h http.Header) bool {
	if h.Get("Content-Type") == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json"))
}
