package legacy

import (
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"
)

// Signature is the beginning of each compound file (MS-CFB).
const Signature = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// maxSniffed is the maximum number of bytes that RootEntries reads of a directory.
const maxSniffed = 4 << 20

// RootEntries returns the names of the entries in the root of a compound file, in lower case. The
// names show the kind of document. RootEntries returns nil if the file is not a compound file.
//
// RootEntries runs in the server. It keeps no content of the file, and reads at most 4 MiB of the
// directory.
func RootEntries(file io.ReaderAt, size int64) []string {
	read := func(off, n int64) []byte {
		if off+n > size {
			return nil
		}
		b := make([]byte, n)
		if m, _ := file.ReadAt(b, off); int64(m) < n {
			return nil
		}
		return b
	}
	head := read(0, 512)
	if head == nil {
		return nil
	}
	shift := binary.LittleEndian.Uint16(head[30:])
	if shift != 9 && shift != 12 {
		return nil
	}
	sector := int64(1) << shift
	at := func(n uint32) int64 { return (int64(n) + 1) * sector }
	next := func(n uint32) uint32 {
		perSector := uint32(sector / 4)
		if n/perSector >= 109 {
			return endOfChain // the sector is beyond the part of the table that the header describes; most directories begin near the front
		}
		fat := binary.LittleEndian.Uint32(head[76+4*(n/perSector):])
		entry := read(at(fat)+4*int64(n%perSector), 4)
		if entry == nil {
			return endOfChain
		}
		return binary.LittleEndian.Uint32(entry)
	}
	var directory []byte
	limit := min(maxSniffed, size) // a chain longer than the file is a cycle
	for n := binary.LittleEndian.Uint32(head[48:]); n < maxSector && int64(len(directory)) < limit; n = next(n) {
		b := read(at(n), sector)
		if b == nil {
			break
		}
		directory = append(directory, b...)
	}
	return childrenOfRoot(directory)
}

// endOfChain is the value after the last sector of a chain.
const endOfChain = 0xfffffffe

// childrenOfRoot returns the names of the entries below the root, in lower case. The root has the
// number of one child, and each entry has the numbers of up to two siblings. An entry has 128
// bytes: the name at 0, the length of the name at 64, siblings at 68 and 72, and the child at 76.
func childrenOfRoot(directory []byte) []string {
	count := uint32(len(directory) / 128)
	if count == 0 {
		return nil
	}
	field := func(i uint32, at int) uint32 { return binary.LittleEndian.Uint32(directory[int(i)*128+at:]) }
	names, seen := []string{}, make([]bool, count)
	for open := []uint32{field(0, 76)}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if i >= count || seen[i] {
			continue
		}
		seen[i] = true
		open = append(open, field(i, 68), field(i, 72))
		names = append(names, strings.ToLower(entryName(directory[i*128:])))
	}
	return names
}

func entryName(entry []byte) string {
	n := min(int(binary.LittleEndian.Uint16(entry[64:])), 64) / 2
	units := make([]uint16, 0, 32)
	for i := range n {
		if u := binary.LittleEndian.Uint16(entry[2*i:]); u != 0 {
			units = append(units, u)
		}
	}
	return string(utf16.Decode(units))
}
