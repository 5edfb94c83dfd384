// Package extract owns the reading of files in confined processes: their texts, pages and parts.
package extract

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"kartei/extract/sandbox"
	"kartei/extract/textio"
)

// Text is the result of reading a file.
type Text struct {
	Body   string // valid UTF-8 without control characters except tab, line feed, and form feed between pages; the text before Reason occurred
	Cut    bool   // the file has more text than the limit
	Reason Reason // why text is missing; "" if the file was read to its end or to the limit
}

// Reason is the reason why a text was not read, or not to its end. The file
// becomes a document nevertheless, but only its name finds it.
type Reason string

// The reasons.
const (
	Complete    Reason = ""
	Unsupported Reason = "unsupported" // files of this type have no text
	Encrypted   Reason = "encrypted"   // the file has a password
	Broken      Reason = "broken"      // the file is incomplete or violates its format
	Inflated    Reason = "inflated"    // the unpacked content exceeds the limit
	Scanned     Reason = "scanned"     // some pages are pictures without text
	Contained   Reason = "contained"   // files inside of the file are not read: attachments, or all of an archive
	OutOfTime   Reason = "time"
	OutOfMemory Reason = "memory"
	Unconfined  Reason = "unconfined" // the system cannot confine the child, and Options.Require is set
	Crashed     Reason = "crashed"    // the child ended in another way
)

// Limits bound the reading of one file.
type Limits struct {
	Text   int           // bytes of Text.Body; 0 is 1 MiB
	Memory int64         // bytes of the child's data; 0 is 768 MiB, and 256 MiB is the least
	Time   time.Duration // processor time at most, see Allowance; sandbox.WallTimes that in real time; 0 is 60 s
}

func (l Limits) withDefaults() Limits {
	if l.Text == 0 {
		l.Text = 1 << 20
	}
	if l.Memory == 0 {
		l.Memory = 768 << 20
	}
	l.Memory = max(l.Memory, 256<<20)
	if l.Time == 0 {
		l.Time = time.Minute
	}
	return l
}

// Options define how texts are read.
type Options struct {
	Limits
	// Program is a program that calls Child; "" is this program.
	Program string
	// Cache is a folder for the machine code of the PDF reader. It is created
	// when it is needed. Without one each PDF costs some more seconds of
	// processor time.
	Cache string
	// Require makes Extract read no text if the system cannot confine the
	// child. Text.Reason is Unconfined then.
	Require bool
	// Cold is called with the reason if the cache could not be filled. It may
	// be nil.
	Cold func(why error)
	// Parallel is the number of concurrent children of one organization; 0 is
	// the number of processors. All organizations together have one more, and
	// one child fills the cache.
	Parallel int
}

// Extractor reads the text of files, each in a process of its own. It is safe
// for use by several goroutines.
type Extractor struct {
	options Options
	slots   *sandbox.Slots

	mu sync.Mutex
	// filling says that a call is filling the cache. warm says that the cache is
	// filled. cold is the number of PDFs still to read without the cache before
	// the next attempt to fill it.
	filling bool
	warm    bool
	cold    int
}

// ErrFilling is returned for a PDF while another call fills the cache. That
// takes some seconds of processor time, and more on a busy machine. Callers
// should release what others wait for, and try again later.
var ErrFilling = errors.New("extract: the PDF reader is being compiled")

// coldTime is the additional processor time of a PDF without the cache.
// Compiling its reader takes 2 to 4 s, and three times as much on a slow
// processor.
const coldTime = 15 * time.Second

// retryCacheAfter is the number of PDFs that are read without the cache before
// another attempt to fill it. The disk may have been full, or the time too
// short.
const retryCacheAfter = 20

// New returns an extractor. It starts no process.
func New(o Options) (*Extractor, error) {
	o.Limits = o.withDefaults()
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Program == "" {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("extract: %w", err)
		}
		o.Program = program
	}
	if o.Cache != "" {
		absolute, err := filepath.Abs(o.Cache) // a child has another working directory
		if err != nil {
			return nil, fmt.Errorf("extract: %w", err)
		}
		o.Cache = absolute
	}
	return &Extractor{options: o, slots: sandbox.NewSlots(o.Parallel)}, nil
}

// cached reports whether files of a type need the cache.
func (x *Extractor) cached(contentType string) bool {
	return contentType == "application/pdf" && x.options.Cache != ""
}

// Ready returns ErrFilling if Extract would return it for a file of the type.
func (x *Extractor) Ready(contentType string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.filling && x.cached(contentType) {
		return ErrFilling
	}
	return nil
}

// The processor time of a small file, and what each MiB adds. Most PDFs take
// 0.15 to 0.3 s. One of 900 bytes that was made for the purpose took 12 s.
const (
	baseTime   = 5 * time.Second
	timePerMiB = 5 * time.Second
)

// Reads reports whether files of a type have a text. The type is the Type of a
// filetype.Verdict.
func Reads(contentType string) bool { return readers[contentType] != nil }

// Allowance returns the processor time that a file of a type and size may use,
// in whole seconds. It is zero if files of the type have no text.
func (x *Extractor) Allowance(contentType string, size int64) time.Duration {
	if !Reads(contentType) {
		return 0
	}
	const far = 1 << 30 // larger than any limit, and no product overflows
	limit := baseTime + time.Duration(min(max(size, 0), far))*timePerMiB>>20
	return min(x.options.Time, limit.Round(time.Second))
}

// Extract is like Within, with Limits.Time.
func (x *Extractor) Extract(ctx context.Context, organization int64, r io.Reader, contentType string) (Text, error) {
	text, _, err := x.Within(ctx, x.options.Time, organization, r, contentType)
	return text, err
}

// Within reads the text of an organization's file, whose type must be one of
// filetype.Verdict.Type. It uses at most the given processor time, and returns how much
// it used. Within returns ErrFilling before it reads r. It waits while too many
// children run. If the file makes its reader fail in any way, the result is a
// Text.Reason. An error comes from ctx, from reading r or from starting a
// process, and means nothing about the file. A Read of r that does not return
// cannot be interrupted.
func (x *Extractor) Within(
	ctx context.Context, limit time.Duration, organization int64, r io.Reader, contentType string,
) (Text, time.Duration, error) {
	if !Reads(contentType) {
		return Text{Reason: Unsupported}, 0, nil
	}
	// before it takes a slot, so files of other types do not wait
	t, err := x.withCache(ctx, x.reading(contentType, "", limit))
	if err != nil {
		return Text{}, 0, err
	}
	if err := x.slots.Enter(ctx, organization); err != nil {
		return Text{}, 0, err
	}
	defer x.slots.Leave(organization)
	return x.read(ctx, t, r)
}

// withCache returns a task with the cache, if its type needs one, or with the
// time that it takes without.
func (x *Extractor) withCache(ctx context.Context, t task) (task, error) {
	if !x.cached(t.name) {
		return t, nil
	}
	warm, err := x.fill(ctx)
	if warm {
		t.cache = x.options.Cache
	} else {
		t.limit += coldTime
	}
	return t, err
}

// read reads the text of a file, and returns its processor time. The caller has
// a slot.
func (x *Extractor) read(ctx context.Context, t task, r io.Reader) (Text, time.Duration, error) {
	e, err := x.run(ctx, r, t)
	if err != nil {
		return Text{}, e.Took, err
	}
	return tidied(e, x.options.Text), e.Took, nil
}

// fill starts a child that writes the reader of PDF into the cache. That
// happens once in a run of the program, and again if the cache was emptied.
// Other callers get ErrFilling meanwhile. If it fails, PDFs are read without
// the cache for a while.
func (x *Extractor) fill(ctx context.Context) (warm bool, err error) {
	if warm, ours, err := x.beginFilling(); !ours {
		return warm, err
	}
	e, err := x.run(ctx, strings.NewReader(""), x.reading(warming, x.options.Cache, x.options.Time))
	x.mu.Lock()
	x.filling = false
	x.warm = err == nil && e.Code == exitDone
	warm = x.warm
	failed := !warm && ctx.Err() == nil
	if failed {
		x.cold = retryCacheAfter
	}
	x.mu.Unlock()
	if failed && x.options.Cold != nil {
		x.options.Cold(cmp.Or(err, why(e)))
	}
	return warm, ctx.Err()
}

// beginFilling reports whether the cache is warm, and whether this call has to
// fill it.
func (x *Extractor) beginFilling() (warm, ours bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.filling {
		return false, false, ErrFilling
	}
	if x.warm {
		entries, _ := os.ReadDir(x.options.Cache)
		x.warm = len(entries) > 0
	}
	switch {
	case x.warm:
		return true, false, nil
	case x.cold > 0:
		x.cold--
		return false, false, nil
	}
	x.filling = true
	return false, true, nil
}

// ErrUnconfined is returned, wrapped, if the system cannot confine a child.
var ErrUnconfined = errors.New("the process that reads texts is not confined")

// Confined starts a child that confines itself. It returns an ErrUnconfined
// that names what the system lacks. Other errors come from ctx or from starting
// a process.
func (x *Extractor) Confined(ctx context.Context) error {
	e, err := x.run(ctx, strings.NewReader(""), x.reading(probing, "", x.options.Time))
	switch {
	case err != nil:
		return err
	case e.Code == exitOpen:
		return fmt.Errorf("%w: %w", ErrUnconfined, why(e))
	case e.Code != exitDone:
		return fmt.Errorf("extract: %w", why(e))
	}
	return nil
}

// task is what a child has to do.
type task struct {
	name  string // of the type, or one of the arguments instead of it
	cache string
	sheet string // to draw; "" reads the text
	// limit bounds the processor time, wall the real time, and output the bytes
	// that the child writes.
	limit, wall time.Duration
	output      int
}

// reading returns the task of reading a text.
func (x *Extractor) reading(name, cache string, limit time.Duration) task {
	return task{name: name, cache: cache, limit: limit, wall: sandbox.WallTimes * x.options.Time, output: x.options.Text + 1}
}

// run starts a child for a file and waits for its end.
func (x *Extractor) run(ctx context.Context, file io.Reader, t task) (sandbox.End, error) {
	confinement := preferred
	if x.options.Require {
		confinement = required
	}
	return sandbox.Run(ctx, sandbox.Command{
		Program: x.options.Program,
		Args: []string{
			command, t.name, strconv.Itoa(x.options.Text), strconv.FormatInt(x.options.Memory, 10),
			strconv.Itoa(int(math.Ceil(t.limit.Seconds()))), t.cache, confinement, t.sheet,
		},
		Time: t.limit, Wall: t.wall, Output: t.output,
	}, file)
}

// why returns the first line of a child's standard error, or else the reason.
// It must be used only if the child has read no file, since the log must
// contain nothing of a file.
func why(e sandbox.End) error {
	if line, _, _ := bytes.Cut(e.Said, []byte("\n")); len(line) > 0 {
		return errors.New(string(line))
	}
	return errors.New(string(cmp.Or(reasonOf(e), Crashed)))
}

// tidied returns the output of a child as a text. The child cleans its text
// too, but a child is not trusted.
func tidied(e sandbox.End, limit int) Text {
	var tidy bytes.Buffer
	s := textio.NewSink(&tidy, limit)
	s.Paged = true
	s.Text(string(e.Wrote))
	_ = s.Close() // a buffer takes everything
	return Text{Body: tidy.String(), Cut: e.Code == exitCut || s.Full(), Reason: reasonOf(e)}
}
