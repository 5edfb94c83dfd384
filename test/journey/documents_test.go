package journey

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// paper is a document in the form of the API.
type paper struct {
	ID, Name  string
	ContactID *string
}

// papers returns the documents that the search finds by a word.
func (o *Office) papers(word string) []paper {
	o.Helper()
	var page struct{ Data []paper }
	o.Call("GET", "/documents?q="+url.QueryEscape(word), nil, &page)
	return page.Data
}

// testPDF returns the path of a PDF with four pages. Page 3 has the word 'Heizung' three times,
// page 4 once.
func testPDF(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../../extract/testdata/pages.pdf")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// drop drops a file onto the page.
func drop(tab *webtest.Tab, name, kind, content string) {
	webtest.Eval[any](tab, `(() => {
		const data = new DataTransfer();
		data.items.add(new File(["`+content+`"], "`+name+`", { type: "`+kind+`" }));
		for (const name of ["dragenter", "dragover", "drop"]) {
			document.querySelector("main").dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
		}
		return null;
	})()`)
}

// wire is a proxy between a browser and the office. It can break requests.
type wire struct {
	http.Handler
	mu sync.Mutex
	// breaks maps a method and path to the faults of the next requests. The fault cut ends the
	// connection before the request has arrived. The fault lost drops the response. The fault hold
	// delays the request until the channel hold is closed.
	breaks map[string][]string
	hold   chan struct{}
	seen   map[string]int
}

func (w *wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	at := r.Method + " /" + strings.Split(r.URL.Path, "/")[1] + "/" + strings.Split(r.URL.Path+"//", "/")[2]
	w.mu.Lock()
	how := ""
	w.seen[at]++
	if list := w.breaks[at]; len(list) > 0 {
		how, w.breaks[at] = list[0], list[1:]
	}
	w.mu.Unlock()
	switch how {
	case "cut":
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		panic(http.ErrAbortHandler)
	case "lost":
		w.Handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "hold":
		<-w.hold
	}
	w.Handler.ServeHTTP(out, r)
}

// through returns the URL of the office behind a wire.
func (o *Office) through(w *wire) string {
	o.Helper()
	to, err := url.Parse(o.BaseURL)
	if err != nil {
		o.Fatal(err)
	}
	w.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	server := httptest.NewServer(w)
	o.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// TestUpload checks that a person can file a scan with a contact by a key, and read it at once. A
// dropped file is filed too. If a file is refused, the page shows the reason.
func TestUpload(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	contact := o.First("contacts")
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/contacts/" + contact)
	tab.Press("u")
	tab.Until(`document.getElementById("queue-files")`) // The file dialog is a window of the browser.
	tab.Open(o.BaseURL + "/documents/new?contactId=" + contact)
	tab.Choose("#f-file", testPDF(t))
	tab.Click(`main form.upload button[type="submit"]`)
	tab.Says("Geprüft und abgelegt")
	found := o.papers("Heizung")
	if len(found) != 1 || found[0].Name != "pages.pdf" || found[0].ContactID == nil || *found[0].ContactID != contact {
		t.Fatalf("the scan became %v", found)
	}
	drop(tab, "Notiz.txt", "text/plain", "Rückruf wegen Kaminkehrer")
	tab.Until(`document.querySelectorAll(".queue .done").length === 2`)
	if found := o.papers("Kaminkehrer"); len(found) != 1 || found[0].ContactID == nil {
		t.Errorf("the file that was dropped became %v", found)
	}
	drop(tab, "setup.exe", "application/x-msdownload", "MZ")
	tab.Says("Abgelehnt: Dateien dieser Art werden nicht angenommen.")
	drop(tab, "klage.pdf", "application/pdf", "nur Text")
	tab.Says("Der Inhalt der Datei ist nicht vom Typ PDF, sondern sieht aus wie Text.")
	for _, fault := range tab.Faults(axe) {
		// The upload queue covers a part of the page and grows upwards. The page itself does not
		// move.
		if !strings.Contains(fault, "status of 422") && !strings.Contains(fault, `<section class="queue"`) {
			t.Error(fault)
		}
	}

	// The matches are marked in the image of the page, and the key n moves to the next.
	tab.Open(o.BaseURL + "/documents/" + found[0].ID + "?q=Heizung")
	tab.Says("1 von 4 Treffern")
	inSight := func(page, hit string) {
		t.Helper()
		tab.Until(`(() => {
			const hit = document.querySelector(".sheet-hits .now rect"), box = document.querySelector(".sheets").getBoundingClientRect();
			if (!hit || hit.parentNode.id !== "hit-` + page + `-` + hit + `") { return false; }
			const at = hit.getBoundingClientRect();
			return at.top >= box.top && at.bottom <= box.bottom && at.width > 10 && hit.closest(".sheet").querySelector("img").complete;
		})()`)
	}
	inSight("3", "1")
	atTop(t, tab)
	for i, hit := range []string{"2", "3"} {
		tab.Press("n")
		tab.Says([]string{"2 von 4 Treffern", "3 von 4 Treffern"}[i])
		inSight("3", hit)
	}
	tab.Press("n") // on the next page
	tab.Says("4 von 4 Treffern")
	inSight("4", "1")
	tab.Press("n") // the first match comes after the last
	tab.Says("1 von 4 Treffern")
	inSight("3", "1")
	tab.Press("p")
	tab.Says("4 von 4 Treffern")
	inSight("4", "1")
	if got := webtest.Eval[int](tab, `document.querySelectorAll(".sheets > .sheet").length`); got != 4 {
		t.Errorf("%d of 4 pages have their room", got)
	}
	for _, fault := range tab.Faults(axe) {
		t.Error(fault)
	}
}

// atTop fails the test if the page is scrolled. The name of the document and its actions must be
// visible.
func atTop(t *testing.T, tab *webtest.Tab) {
	t.Helper()
	if at := webtest.Eval[float64](tab, `scrollY`); at != 0 {
		t.Errorf("%s opens scrolled by %g", tab.Path(), at)
	}
}

// TestFoundDocument searches for a word in the text of a document and opens the hit. The name of
// the document and the first marked match of the word must be visible.
func TestFoundDocument(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/documents/new")
	tab.Choose("#f-file", testPDF(t))
	tab.Click(`main form.upload button[type="submit"]`)
	tab.Says("Geprüft und abgelegt")
	drop(tab, "Notiz.txt", "text/plain", strings.Repeat(`Zeile\n`, 99)+"Kaminkehrer"+strings.Repeat(`\nZeile`, 99))
	tab.Until(`document.querySelector(".queue .done")`)
	for _, v := range []webtest.View{{Width: 1280, Language: "de"}, {Width: 390, Touch: true, Language: "de"}} {
		tab := o.SignedIn(o.Jonas(), v)
		for word, mark := range map[string]string{"Heizung": ".sheet-hits .now rect", "Kaminkehrer": "mark.now"} {
			// The search finds the text of a file some time after the upload.
			for watch := waittest.New(); ; {
				tab.Open(o.BaseURL + "/search?q=" + word)
				if webtest.Eval[bool](tab, `!!document.querySelector('main a[href^="/documents/"]')`) {
					break
				}
				if watch.IsStuck() {
					t.Fatalf("%s is not found", word)
				}
			}
			tab.Click(`main a[href^="/documents/"]`)
			tab.Until(`(() => {
				const hit = document.querySelector("` + mark + `"), box = document.querySelector(".sheets");
				if (!hit) { return false; }
				const at = hit.getBoundingClientRect(), from = box.getBoundingClientRect();
				return at.top >= from.top && at.bottom <= Math.min(from.bottom, innerHeight);
			})()`)
			atTop(t, tab)
		}
	}
}

// TestUploadOverABrokenLine breaks the connection while a file is sent, after it has arrived, and
// after the document was begun. The upload is retried, and there must be one document. Its name is
// the one that the person has typed meanwhile.
func TestUploadOverABrokenLine(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	w := &wire{hold: make(chan struct{}), seen: map[string]int{}, breaks: map[string][]string{
		"PUT /documents/upload": {"cut", "lost"}, "POST /documents/upload": {"hold"}, "POST /documents/new": {"lost"},
	}}
	base := o.through(w)
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.SetCookie(base, o.Cookie(o.Jonas()))
	tab.Open(base + "/documents")
	drop(tab, "scan.txt", "text/plain", strings.Repeat("Kaminkehrer ", 2000))
	tab.Fill(`.queue input`, "Bescheid.txt")
	close(w.hold)
	tab.Says("Geprüft und abgelegt")
	w.mu.Lock()
	if w.seen["PUT /documents/upload"] < 3 || w.seen["POST /documents/new"] < 2 {
		t.Errorf("the line did not break: %v", w.seen)
	}
	w.mu.Unlock()
	if found := o.papers("Kaminkehrer"); len(found) != 1 || found[0].Name != "Bescheid.txt" {
		t.Errorf("a file over a broken line became %v", found)
	}
	tab.Until(`document.querySelector("main .list")?.innerText.includes("Bescheid.txt")`)

	// If the session has ended, the file waits until the person has signed in again.
	tab.SetCookie(base, &http.Cookie{Name: o.Cookie(o.Jonas()).Name, Value: "ended"})
	drop(tab, "spaeter.txt", "text/plain", "Dachdecker")
	tab.Says("Ihre Anmeldung ist abgelaufen. Die Datei wartet.")
	tab.SetCookie(base, o.Cookie(o.Jonas()))
	webtest.Eval[any](tab, `window.dispatchEvent(new Event("focus")), null`)
	tab.Until(`document.querySelectorAll(".queue .done").length === 2`)
	if found := o.papers("Dachdecker"); len(found) != 1 {
		t.Errorf("a file that waited for the sign-in became %v", found)
	}
}
