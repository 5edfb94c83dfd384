package api

import (
	"reflect"
	"strings"
	"testing"

	"kartei/api/op"
	"kartei/api/release"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/contact"

	"github.com/go-json-experiment/json"
)

// FuzzAcceptLanguage checks that the language for any Accept-Language header is German or English.
// German is the default.
func FuzzAcceptLanguage(f *testing.F) {
	for _, seed := range []string{
		"", "en", "de", "fr", "en-GB", "de;q=0.5,en;q=0.6", "en;q=0", "*", "en;q=NaN", "en;q=1e-300", ";q=1",
		",,,", "en;q=-1, de;q=2", "EN;Q=1", "e\u0144",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		l := i18n.Preferred([]string{value})
		if l != i18n.German && l != i18n.English {
			t.Fatalf("%q gives %q", value, l)
		}
		if l == i18n.English && !strings.Contains(strings.ToLower(value), "en") {
			t.Fatalf("%q gives English", value)
		}
		// Other languages in the header do not change the result.
		if with := i18n.Preferred([]string{value, "xx", "x;q=1"}); with != l {
			t.Fatalf("%q gives %s, with an unknown one %s", value, l, with)
		}
	})
}

// FuzzCursor checks that only cursors from Seal can be opened, and only for the list for which they
// were sealed.
func FuzzCursor(f *testing.F) {
	cursors, err := op.NewCursors([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		f.Fatal(err)
	}
	now := clock.Micros(1_793_523_600_000_000)
	good, err := cursors.Seal("list", now, map[string]int{"t": 7})
	if err != nil {
		f.Fatal(err)
	}
	for i, seed := range []string{"", "A", "eyJ0IjoxfQ", "\x00", "_-_-", "=", strings.Repeat("A", 4096)} {
		f.Add(seed, uint8(i), uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, cursor string, at, flip uint8) {
		var position map[string]int
		changed := []byte(good)
		changed[int(at)%len(changed)] ^= flip
		for _, forged := range []string{
			cursor, good + cursor, cursor + good, string(changed), good[:int(at)%len(good)] + cursor,
		} {
			if err := cursors.Open("list", forged, now, &position); (err == nil) != (forged == good) {
				t.Fatalf("%q opens as %v, %v", forged, position, err)
			}
		}
		// The fuzzed text is also the position and the scope of a sealed cursor.
		sealed, err := cursors.Seal(cursor, now, cursor)
		if err != nil {
			t.Fatal(err)
		}
		var back string
		if err := cursors.Open(cursor, sealed, now, &back); err != nil ||
			back != strings.ToValidUTF8(cursor, "\uFFFD") && back != replaced(cursor) {
			t.Fatalf("%q came back as %q, %v", cursor, back, err)
		}
		if err := cursors.Open(cursor+"x", sealed, now, &back); err == nil {
			t.Fatalf("a cursor of %q opens another list", cursor)
		}
	})
}

// replaced returns s as JSON stores it: each invalid byte becomes U+FFFD.
func replaced(s string) string { return string([]rune(s)) }

// FuzzMergePatch compares two ways to apply a merge patch: decoding into existing fields, and RFC
// 7396 on maps. It uses only patches that the API accepts.
func FuzzMergePatch(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"lastName":"Thal"}`, `{"lastName":null}`, `{"address":null}`, `{"address":{}}`,
		`{"address":{"city":null}}`, `{"address":{"city":"Bonn","street":null}}`,
		`{"tags":null}`, `{"tags":[]}`, `{"tags":["x"]}`, `{"tags":["1","2","3","4","5"]}`,
		`{"note":"a\nb","email":"x@example.com"}`, `{"visibility":"private"}`, `{"birthday":"2000-02-29"}`,
		`{"lastName":"A","lastName":"B"}`, `{"nosuch":1}`, `[]`, `null`, `{"address":"x"}`, `{"tags":{}}`,
		`{"lastName":"\ud800"}`,
	} {
		f.Add(seed)
	}
	const before = `{"lastName":"Berg","firstName":"Anna","email":null,"note":"alt","tags":["a","b","c"],
		"address":{"street":"Weg 1","postalCode":"50667","city":"Köln","region":null,"country":"DE"},"visibility":"organization"}`
	a := &API{versions: map[string]*servedVersion{}}
	if err := a.serve(release.VersionsIn("production")); err != nil {
		f.Fatal(err)
	}
	rules := a.versions[a.current].rules
	f.Fuzz(func(t *testing.T, patch string) {
		var p op.Patch[contact.Fields]
		if rules.Body("contacts.update", []byte(patch), &p, nil) != nil {
			return // the API refuses the patch
		}
		var patched contact.Fields
		if err := json.Unmarshal([]byte(before), &patched); err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(&patched); err != nil {
			t.Fatalf("%s: the path takes it, then: %v", patch, err)
		}

		var target, change any
		if err := json.Unmarshal([]byte(before), &target); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(patch), &change); err != nil {
			t.Fatalf("%s: the path takes it, then: %v", patch, err)
		}
		merged, err := json.Marshal(mergePatch(target, change))
		if err != nil {
			t.Fatal(err)
		}
		var want contact.Fields
		if err := json.Unmarshal(merged, &want); err != nil {
			t.Fatal(err)
		}
		// A record stores an empty address like no address, and an empty list of tags like no list.
		for _, fields := range []*contact.Fields{&patched, &want} {
			if fields.Address != nil && *fields.Address == (record.Address{}) {
				fields.Address = nil
			}
			if len(fields.Tags) == 0 {
				fields.Tags = nil
			}
		}
		if !reflect.DeepEqual(patched, want) {
			got, _ := json.Marshal(patched)
			should, _ := json.Marshal(want)
			t.Fatalf("%s gives\n%s\nRFC 7396 gives\n%s", patch, got, should)
		}
	})
}

// mergePatch is the function MergePatch of RFC 7396, section 2.
func mergePatch(target, patch any) any {
	changes, is := patch.(map[string]any)
	if !is {
		return patch
	}
	object, is := target.(map[string]any)
	if !is {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = mergePatch(object[name], value)
		}
	}
	return object
}
