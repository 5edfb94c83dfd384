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

// Reason says why the text of a file is missing or incomplete. The file is stored as a document
// nevertheless, but a search finds it only by its name.
type Reason string

// The reasons for a missing or incomplete text.
const (
	Complete    Reason = ""
	Unsupported Reason = "unsupported" // files of this type have no text
	Encrypted   Reason = "encrypted"   // the file has a password
	Broken      Reason = "broken"      // the file is incomplete or violates its format
	Inflated    Reason = "inflated"    // the unpacked content exceeds the limit
	Scanned     Reason = "scanned"     // some pages are pictures without text
	Contained   Reason = "contained"   // the file contains files that are not read: attachments, or the entries of an archive
	OutOfTime   Reason = "time"
	OutOfMemory Reason = "memory"
	Unconfined  Reason = "unconfined" // the system cannot confine the child, and Options.Require is set
	Crashed     Reason = "crashed"    // the child ended abnormally in any other way
)

// Limits bound the reading of one file.
type Limits struct {
	Text   int           // maximum length of Text.Body in bytes; 0 means 1 MiB
	Memory int64         // maximum size of the child's data in bytes; 0 means 768 MiB, and smaller values than 256 MiB mean 256 MiB
	Time   time.Duration // maximum processor time, see Allowance; the real time may be sandbox.WallTimes as long; 0 means 60 s
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

// Options are the settings of an Extractor.
type Options struct {
	Limits
	// Program is the path of a program that calls Child. An empty path means the running program.
	Program string
	// Cache is the path of a folder for the compiled PDF reader. The folder is created when it is
	// first needed. If Cache is empty, each PDF takes some more seconds of processor time.
	Cache string
	// Require makes the Extractor read no file if the system cannot confine the child. Text.Reason
	// is then Unconfined.
	Require bool
	// Cold is called with the reason when the cache cannot be filled. Cold may be nil.
	Cold func(why error)
	// Parallel is the maximum number of concurrent children of one organization. Zero means the
	// number of processors. The maximum for all organizations together is Parallel+1. The child
	// that fills the cache is not counted.
	Parallel int
}

// Extractor reads the texts of files, each in a child process. It is safe for use by several
// goroutines.
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

// ErrFilling is returned for a PDF while another call fills the cache. Filling takes some seconds
// of processor time, and more on a busy machine. A caller should release its locks and try again
// later.
var ErrFilling = errors.New("extract: the PDF reader is being compiled")

// coldTime is the additional processor time of a PDF without the cache.
// Compiling its reader takes 2 to 4 s, and three times as much on a slow
// processor.
const coldTime = 15 * time.Second

// retryCacheAfter is the number of PDFs that are read without the cache before the next attempt to
// fill it. The last attempt may have failed because the disk was full or the time too short.
const retryCacheAfter = 20

// New returns an Extractor. New starts no process.
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
		absolute, err := filepath.Abs(o.Cache) // the working directory of a child is another one
		if err != nil {
			return nil, fmt.Errorf("extract: %w", err)
		}
		o.Cache = absolute
	}
	return &Extractor{options: o, slots: sandbox.NewSlots(o.Parallel)}, nil
}

// cached reports whether the cache is used for files of a type.
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

// baseTime is the processor time for a small file, and timePerMiB the additional time for each MiB.
// Most PDFs take 0.15 to 0.3 s. A PDF of 900 bytes that was crafted to be slow took 12 s.
const (
	baseTime   = 5 * time.Second
	timePerMiB = 5 * time.Second
)

// Reads reports whether texts of files of a type can be read. contentType is the Type of a
// filetype.Verdict.
func Reads(contentType string) bool { return readers[contentType] != nil }

// Allowance returns the maximum processor time for reading a file of the given type and size, in
// whole seconds. It returns zero if files of the type have no text.
func (x *Extractor) Allowance(contentType string, size int64) time.Duration {
	if !Reads(contentType) {
		return 0
	}
	const far = 1 << 30 // larger than any limit, and small enough that no product overflows
	limit := baseTime + time.Duration(min(max(size, 0), far))*timePerMiB>>20
	return min(x.options.Time, limit.Round(time.Second))
}

// Extract calls Within with the limit Limits.Time, and returns the text without the time used.
func (x *Extractor) Extract(ctx context.Context, organization int64, r io.Reader, contentType string) (Text, error) {
	text, _, err := x.Within(ctx, x.options.Time, organization, r, contentType)
	return text, err
}

// Within reads the text of a file of an organization, and returns the processor time that the child
// used. contentType is the Type of a filetype.Verdict, and limit is the maximum processor time.
// Within waits while the maximum number of children runs.
//
// If the content of the file makes the reader fail, Within returns no error, but a Text with a
// Reason. Within returns ErrFilling before it reads r. All other errors come from ctx, from r or
// from starting the process. A Read of r that does not return cannot be interrupted.
func (x *Extractor) Within(
	ctx context.Context, limit time.Duration, organization int64, r io.Reader, contentType string,
) (Text, time.Duration, error) {
	if !Reads(contentType) {
		return Text{Reason: Unsupported}, 0, nil
	}
	// The cache comes before the slot, so that files of other types need not wait for the cache.
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

// withCache returns the task t prepared for its type. If the type needs the cache and the cache is
// filled, the task uses it. If the cache is not filled, the limit of the task rises by coldTime.
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

// read runs the task and returns the text of the file and the processor time of the child. The
// caller must hold a slot.
func (x *Extractor) read(ctx context.Context, t task, r io.Reader) (Text, time.Duration, error) {
	e, err := x.run(ctx, r, t)
	if err != nil {
		return Text{}, e.Took, err
	}
	return tidied(e, x.options.Text), e.Took, nil
}

// fill starts a child that writes the compiled PDF reader to the cache. The cache is filled once in
// a run of the program, and again if its folder was emptied. Other callers get ErrFilling
// meanwhile. If the child fails, the next retryCacheAfter PDFs are read without the cache.
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

// beginFilling reports whether the cache is filled, and whether the caller has to fill it. The
// error is ErrFilling if another call is filling the cache.
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

// ErrUnconfined is wrapped in the error of Confined if the system cannot confine a child.
var ErrUnconfined = errors.New("the process that reads texts is not confined")

// Confined starts a child that confines itself and exits. If the system lacks something for this,
// the error wraps ErrUnconfined and says what is missing. Other errors come from ctx or from
// starting the process.
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

// task is the work of a child.
type task struct {
	name  string // content type of the file, or one of warming, probing and unpacking
	cache string
	sheet string // the page to draw; if empty, the child reads the text
	// limit is the maximum processor time, and wall the maximum real time. output is the maximum
	// number of bytes that the child may write.
	limit, wall time.Duration
	output      int
}

// reading returns the task of reading a text. name and cache are the fields of the task.
func (x *Extractor) reading(name, cache string, limit time.Duration) task {
	return task{name: name, cache: cache, limit: limit, wall: sandbox.WallTimes * x.options.Time, output: x.options.Text + 1}
}

// run starts a child that reads the file for the task t, and waits for the end of the child.
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

// why returns the first line of a child's standard error as an error. Without such a line, the
// error is the Reason. why must be called only for a child that has read no file, since the log
// must contain no content of a file.
func why(e sandbox.End) error {
	if line, _, _ := bytes.Cut(e.Said, []byte("\n")); len(line) > 0 {
		return errors.New(string(line))
	}
	return errors.New(string(cmp.Or(reasonOf(e), Crashed)))
}

// tidied returns the output of a child as a Text of at most limit bytes. It removes control
// characters once more, since the server does not trust the child.
func tidied(e sandbox.End, limit int) Text {
	var tidy bytes.Buffer
	s := textio.NewSink(&tidy, limit)
	s.Paged = true
	s.Text(string(e.Wrote))
	_ = s.Close() // a bytes.Buffer returns no errors
	return Text{Body: tidy.String(), Cut: e.Code == exitCut || s.Full(), Reason: reasonOf(e)}
}
