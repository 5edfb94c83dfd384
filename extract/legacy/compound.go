// Package legacy owns the formats before 2007: Word, Excel, PowerPoint and Outlook in compound files, and RTF.
//
// A compound file (MS-CFB) is a file system within a file. A file allocation
// table names the sector that follows each sector, and a directory names the
// streams. compound.go reads these tables. word.go, excel.go, powerpoint.go and
// outlook.go read the records within the streams. sniff.go returns the kind of
// a compound file to the server. Everything else runs in the child process.
package legacy

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"kartei/extract/textio"
)

// Limits and constants of compound files.
const (
	maxDirectory = 16 << 20 // bytes of 131,072 entries; an Outlook message with 1,000 recipients has some 20,000
	miniSector   = 64
	miniCutoff   = 4096 // streams with fewer bytes lie in the mini stream
	maxSector    = 0xfffffffa
	noEntry      = -1
)

// compound is an open compound file (MS-CFB), a file system within a file. Its storages contain
// streams and further storages. The tables have at most one number for each sector of the file. So
// the time and memory for opening depend only on the size of the file, whatever the tables say.
// docs/decisions/0033 says why no library is used.
type compound struct {
	file    *textio.Chunks
	sector  int64
	table   []uint32 // for each sector the number of the sector that follows
	small   []uint32 // the same table for the sectors of the mini stream
	mini    *stream
	entries []compoundEntry
	left    int64 // bytes of streams that may still be opened; streams may overlap, so their sum could exceed the file
}

// compoundEntry is an entry of the directory: a storage or a stream.
type compoundEntry struct {
	name     string // in lower case
	storage  bool
	start    uint32
	size     int64
	sibling  [2]uint32
	child    uint32
	children []int // indexes of entries, sorted by name
}

// openCompound reads the tables of a compound file. The entry 0 is the root. openCompound returns
// ErrBroken or ErrInflated if the tables cannot be read.
func openCompound(in *textio.Input) (*compound, error) {
	file, err := in.Hold()
	if err != nil {
		return nil, err
	}
	c := &compound{file: file, left: textio.MaxUnpacked}
	head := make([]byte, 512)
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:8]) != Signature {
		return nil, textio.ErrBroken
	}
	shift := binary.LittleEndian.Uint16(head[30:])
	if shift != 9 && shift != 12 {
		return nil, textio.ErrBroken
	}
	c.sector = 1 << shift
	c.allocation(head)
	if err := c.directory(binary.LittleEndian.Uint32(head[48:]), shift == 9); err != nil {
		return nil, err
	}
	root := &c.entries[0]
	c.mini = c.chained(root.start, min(root.size, file.Size), false)
	c.small = c.numbers(c.chained(binary.LittleEndian.Uint32(head[60:]), c.mini.size/miniSector*4+4, false),
		c.mini.size/miniSector+1)
	return c, nil
}

// allocation reads the file allocation table. The header has the numbers of the first 109 sectors
// of the table. A chain of further sectors has the other numbers.
func (c *compound) allocation(head []byte) {
	count := c.file.Size / c.sector // number of sectors, the maximum number of entries
	per := c.sector / 4
	names := head[76:]
	next := binary.LittleEndian.Uint32(head[68:])
	for int64(len(c.table)) < count {
		if len(names) == 0 {
			names = make([]byte, c.sector)
			if next >= maxSector || c.readSector(names, next) != nil {
				return
			}
			next = binary.LittleEndian.Uint32(names[c.sector-4:])
			names = names[:c.sector-4]
		}
		n := binary.LittleEndian.Uint32(names)
		names = names[4:]
		wanted := min(per, count-int64(len(c.table)))
		got := c.numbers(&stream{c: c, sectors: []uint32{n}, unit: c.sector, size: c.sector}, wanted)
		c.table = append(c.table, got...)
		if int64(len(got)) < wanted {
			return // the file is cut, and later entries would be misplaced
		}
	}
}

func (c *compound) readSector(p []byte, n uint32) error {
	_, err := c.file.ReadAt(p, (int64(n)+1)*c.sector)
	return err
}

// numbers reads up to limit numbers of 32 bits from a stream.
func (c *compound) numbers(s *stream, limit int64) []uint32 {
	var numbers []uint32
	part := make([]byte, c.sector)
	for at := int64(0); int64(len(numbers)) < limit; at += c.sector {
		n, err := s.ReadAt(part, at)
		for i := 0; i+4 <= n && int64(len(numbers)) < limit; i += 4 {
			numbers = append(numbers, binary.LittleEndian.Uint32(part[i:]))
		}
		if err != nil {
			break
		}
	}
	return numbers
}

// chained returns the stream that begins at the sector start. Its chain of sectors may be shorter
// than size, or a cycle. ReadAt then returns ErrBroken, or repeats sectors.
func (c *compound) chained(start uint32, size int64, mini bool) *stream {
	s := &stream{c: c, size: size, unit: c.sector}
	table := c.table
	if mini {
		s.mini, s.unit, table = true, miniSector, c.small
	}
	size = min(size, c.file.Size)
	for n := start; int64(len(s.sectors))*s.unit < size && n < maxSector; n = table[n] {
		s.sectors = append(s.sectors, n)
		if int64(n) >= int64(len(table)) {
			break
		}
	}
	return s
}

// directory reads the entries of the directory and their tree. It ignores entries that cannot be
// reached from the root, and further references to an entry.
func (c *compound) directory(start uint32, old bool) error {
	s := c.chained(start, c.file.Size, false)
	if int64(len(s.sectors))*c.sector > maxDirectory {
		return textio.ErrInflated
	}
	part := make([]byte, c.sector)
	for _, n := range s.sectors {
		if c.readSector(part, n) != nil {
			break // the file is cut; the entries so far may suffice
		}
		for b := part; len(b) > 0; b = b[128:] {
			e := compoundEntry{name: strings.ToLower(entryName(b)), storage: b[66] == 1 ||
				b[66] == 5, start: binary.LittleEndian.Uint32(b[116:]),
				sibling: [2]uint32{binary.LittleEndian.Uint32(b[68:]), binary.LittleEndian.Uint32(b[72:])},
				child:   binary.LittleEndian.Uint32(b[76:])}
			e.size = int64(binary.LittleEndian.Uint64(b[120:]) & (1<<63 - 1))
			if old {
				e.size &= 0xffffffff // version 3 does not define the upper half
			}
			c.entries = append(c.entries, e)
		}
	}
	if len(c.entries) == 0 || !c.entries[0].storage {
		return textio.ErrBroken
	}
	seen := make([]bool, len(c.entries))
	seen[0] = true
	for storages := []int{0}; len(storages) > 0; {
		parent := &c.entries[storages[len(storages)-1]]
		storages = storages[:len(storages)-1]
		for open := []uint32{parent.child}; len(open) > 0; {
			i := open[len(open)-1]
			open = open[:len(open)-1]
			if int64(i) >= int64(len(c.entries)) || seen[i] {
				continue
			}
			seen[i] = true
			open = append(open, c.entries[i].sibling[:]...)
			parent.children = append(parent.children, int(i))
			if c.entries[i].storage {
				storages = append(storages, int(i))
			}
		}
		slices.SortStableFunc(parent.children,
			func(a, b int) int { return strings.Compare(c.entries[a].name, c.entries[b].name) })
	}
	return nil
}

// find returns the index of the entry with a name in a storage, or noEntry. name is in lower case.
func (c *compound) find(storage int, name string) int {
	children := c.entries[storage].children
	i, found := slices.BinarySearchFunc(children, name,
		func(child int, name string) int { return strings.Compare(c.entries[child].name, name) })
	if !found {
		return noEntry
	}
	return children[i]
}

// within returns the storages in a storage whose names begin with a prefix.
func (c *compound) within(storage int, prefix string) []int {
	var found []int
	for _, i := range c.entries[storage].children {
		if c.entries[i].storage && strings.HasPrefix(c.entries[i].name, prefix) {
			found = append(found, i)
		}
	}
	return found
}

// open returns the stream with a name in a storage. It returns nil if the storage has no such
// stream, and ErrInflated if too many bytes of streams were opened.
func (c *compound) open(storage int, name string) (*stream, error) {
	i := c.find(storage, name)
	if i == noEntry || c.entries[i].storage {
		return nil, nil
	}
	e := &c.entries[i]
	if c.left -= min(e.size, c.file.Size); c.left < 0 {
		return nil, textio.ErrInflated
	}
	return c.chained(e.start, e.size, e.size < miniCutoff), nil
}

// main returns a stream of the root storage. It returns ErrBroken if the stream is missing.
func (c *compound) main(name string) (*stream, error) {
	s, err := c.open(0, name)
	if err != nil {
		return s, err
	}
	if s == nil {
		return s, textio.ErrBroken
	}
	return s, nil
}

// stream is a stream of a compound file. It implements io.ReaderAt.
type stream struct {
	c       *compound
	sectors []uint32
	unit    int64 // size of a sector in bytes
	mini    bool
	size    int64
}

// ReadAt implements io.ReaderAt. It returns ErrBroken if the chain of sectors or the file ends
// before the stream.
func (s *stream) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, textio.ErrBroken
	}
	for n < len(p) {
		at := off + int64(n)
		if at >= s.size {
			return n, io.EOF
		}
		if at/s.unit >= int64(len(s.sectors)) {
			return n, textio.ErrBroken
		}
		within := at % s.unit
		piece := min(s.unit-within, s.size-at, int64(len(p)-n))
		sector := int64(s.sectors[at/s.unit])
		var got int
		if s.mini {
			got, err = s.c.mini.ReadAt(p[n:n+int(piece)], sector*s.unit+within)
		} else {
			got, err = s.c.file.ReadAt(p[n:n+int(piece)], (sector+1)*s.unit+within)
		}
		n += got
		if got < int(piece) && err != nil {
			return n, textio.ErrBroken
		}
	}
	return n, nil
}

// part returns length bytes from the offset off. It returns ErrBroken if these are not all within
// the stream, or length exceeds the size of the file.
func (s *stream) part(off, length int64) ([]byte, error) {
	if off < 0 || length < 0 || off+length > min(s.size, s.c.file.Size) {
		return nil, textio.ErrBroken
	}
	p := make([]byte, length)
	if _, err := s.ReadAt(p, off); err != nil && err != io.EOF {
		return nil, err
	}
	return p, nil
}

// reader returns a reader of the whole stream.
func (s *stream) reader() io.Reader { return io.NewSectionReader(s, 0, s.size) }
