package extract

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kartei/extract/filetype"
)

// TestFolder reads the files of a folder as the server would, and prints the outcome of each file.
// It runs only if KARTEI_EXTRACT_FOLDER is set:
//
//	KARTEI_EXTRACT_FOLDER=dir go test ./extract -run TestFolder -v
//
// If KARTEI_EXTRACT_TEXTS is the path of a folder, the texts are stored in that folder.
func TestFolder(t *testing.T) {
	folder := os.Getenv("KARTEI_EXTRACT_FOLDER")
	if folder == "" {
		t.Skip("KARTEI_EXTRACT_FOLDER names no folder")
	}
	types := filetype.Allowlist{}
	for _, name := range filetype.Known() {
		types[name] = true
	}
	x, sums := extractor(t, Limits{}), map[string]map[string]int{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		contentType, outcome, text, err := readFile(t, x, types, path)
		if err != nil {
			return err
		}
		fmt.Printf("%-28s %-20s %7d  %s\n", outcome, shortType(contentType), utf8.RuneCountInString(text), path)
		if sums[contentType] == nil {
			sums[contentType] = map[string]int{}
		}
		sums[contentType][outcome]++
		if texts := os.Getenv("KARTEI_EXTRACT_TEXTS"); texts != "" && text != "" {
			return os.WriteFile(filepath.Join(texts, d.Name()+".txt"), []byte(text), 0o600)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, contentType := range slices.Sorted(maps.Keys(sums)) {
		fmt.Printf("%s:", cmp.Or(shortType(contentType), "no type for the extension"))
		for _, outcome := range slices.Sorted(maps.Keys(sums[contentType])) {
			fmt.Printf(" %d %s,", sums[contentType][outcome], outcome)
		}
		fmt.Println()
	}
}

// readFile reads a file with the content type of its extension. It returns the type, the outcome
// and the text.
func readFile(t *testing.T, x *Extractor, types filetype.Allowlist, path string) (contentType, outcome, body string, err error) {
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	for _, name := range filetype.Known() { // the order of Known matters: several types have the extension of plain text
		if fit := filetype.Endings(name); fit[0] == ending || contentType == "" && slices.Contains(fit, ending) {
			contentType = name
		}
	}
	if contentType == "" {
		return "", "skipped", "", nil
	}
	file, err := os.Open(path)
	if err != nil {
		return "", "", "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", "", "", err
	}
	v, err := types.Sniff(file, info.Size(), contentType)
	if err != nil {
		return "", "", "", err
	}
	if v.Refusal != filetype.Allowed {
		return contentType, "refused (" + v.Found + ")", "", nil
	}
	var text Text
	for filled := false; !filled; filled = !errors.Is(err, ErrFilling) {
		if _, err = file.Seek(0, 0); err == nil {
			text, err = x.Extract(t.Context(), 1, file, contentType)
		}
	}
	switch {
	case text.Reason != Complete:
		outcome = string(text.Reason)
	case text.Cut:
		outcome = "cut"
	case text.Body == "":
		outcome = "no text"
	default:
		outcome = "read"
	}
	return contentType, outcome, text.Body, err
}

// shortType returns a content type without the long common prefixes.
func shortType(contentType string) string {
	return strings.NewReplacer(filetype.OOXML, "", filetype.ODF, "od-", "application/", "").Replace(contentType)
}
