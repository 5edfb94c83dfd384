package pdf

import (
	"errors"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/structs"

	"kartei/extract/textio"
)

// file is a PDF that is being read.
type file struct {
	pdfium.Pdfium
	whole *textio.Chunks
	pages int
	// first is the opened file. second is the file opened again. It is used for pages whose fields
	// do not show their values, since first has lost the form of a page that was loaded.
	first, second *handle
}

// handle is an open PDF document and its form.
type handle struct {
	document references.FPDF_DOCUMENT
	form     references.FPDF_FORMHANDLE
	formed   bool // an attempt to open the form was made; form is empty if it failed
}

// flatPage is a page after flattening: its form fields and annotations, as on a screen, are part of
// the page content.
type flatPage struct {
	ref   references.FPDF_PAGE
	text  string
	notes []note // comments and values that the page does not show
}

// note is a comment on a page or the value of a form field.
type note struct {
	text  string
	place structs.FPDF_FS_RECTF
	index int  // of the annotation
	field bool // the note is the value of a field that shows text
	shown bool // the page shows the text; for a field, at its place
}

// maxNotes is the maximum number of annotations of a page that are read.
const maxNotes = 10_000

// page loads a page, with the current values of its form fields. Some programs fill a form and
// leave an old appearance of a field, or none. They expect that the reader draws the field.
func (f *file) page(i int) (*flatPage, error) {
	page, err := f.load(f.first, i, nil)
	if err != nil {
		return nil, err
	}
	stale := map[int]bool{}
	for _, n := range page.notes {
		if n.field && !n.shown {
			stale[n.index] = true
		}
	}
	if len(stale) > 0 {
		if drawn := f.redraw(i, stale); drawn != nil {
			f.closePage(page.ref)
			page = drawn
		}
	}
	var left []note
	for _, n := range page.notes {
		if !n.shown {
			left = append(left, n)
		}
	}
	page.notes = left
	return page, nil
}

// redraw loads a page again and redraws the stale fields. It returns nil if that fails.
func (f *file) redraw(i int, stale map[int]bool) *flatPage {
	if f.second == nil {
		second, err := f.open()
		if err != nil {
			return nil
		}
		f.second = second
	}
	page, err := f.load(f.second, i, stale)
	if err != nil {
		return nil
	}
	return page
}

// load loads a page from a handle and flattens it. Before that, it removes the appearances of stale
// fields and draws missing appearances.
func (f *file) load(c *handle, i int, stale map[int]bool) (*flatPage, error) {
	loaded, err := f.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: c.document, Index: i})
	if err != nil {
		return nil, err
	}
	page := &flatPage{ref: loaded.Page}
	ref := requests.Page{ByReference: &loaded.Page}
	if count, err := f.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: ref}); err == nil && count.Count > 0 {
		f.enter(c)
		page.notes = f.notes(c, ref, min(count.Count, maxNotes), stale)
		if c.form != "" { // this call draws fields without an appearance
			_, _ = f.FORM_OnAfterLoadPage(&requests.FORM_OnAfterLoadPage{Page: ref, FormHandle: c.form})
		}
	}
	flat, err := f.FPDFPage_Flatten(&requests.FPDFPage_Flatten{
		Page: ref, Usage: requests.FPDFPage_FlattenUsageNormalDisplay,
	})
	if err != nil {
		return page, f.readText(page)
	}
	if flat.Result == responses.FPDFPage_FlattenResultSuccess {
		f.leavePage(c, loaded.Page)
		if loaded, err = f.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: c.document, Index: i}); err != nil {
			return nil, err
		}
		page.ref = loaded.Page
	} // if flattening failed, the page lacks its forms and notes, which is better than no page
	return page, f.readText(page)
}

// readText reads the text of a page, and sets shown in each note.
func (f *file) readText(page *flatPage) error {
	open, err := f.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page.ref}})
	if err != nil {
		return err
	}
	page.text, err = f.chars(open.TextPage)
	for i, n := range page.notes {
		text := page.text
		if n.field {
			text = f.textAt(open.TextPage, n.place)
		}
		page.notes[i].shown = shows(text, n.text)
	}
	_, closing := f.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: open.TextPage})
	return errors.Join(err, closing)
}

// maxObjects is the maximum number of objects of a page that are checked for a picture. A scan has
// few objects.
const maxObjects = 100

// pictured reports whether a page shows a picture. The picture may be inside of a form XObject, so
// these count as pictures.
func (f *file) pictured(ref references.FPDF_PAGE) bool {
	page := requests.Page{ByReference: &ref}
	count, err := f.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false
	}
	for i := range min(count.Count, maxObjects) {
		object, err := f.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err != nil {
			return false
		}
		kind, err := f.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object.PageObject})
		if err == nil && (kind.Type == enums.FPDF_PAGEOBJ_IMAGE || kind.Type == enums.FPDF_PAGEOBJ_FORM) {
			return true
		}
	}
	return false
}

// textAt returns the text in a rectangle of a page.
func (f *file) textAt(page references.FPDF_TEXTPAGE, r structs.FPDF_FS_RECTF) string {
	const edge = 2 // points by which letters may extend beyond their field
	text, err := f.FPDFText_GetBoundedText(&requests.FPDFText_GetBoundedText{TextPage: page,
		Left: float64(r.Left) - edge, Top: float64(r.Top) + edge, Right: float64(r.Right) + edge,
		Bottom: float64(r.Bottom) - edge})
	if err != nil {
		return ""
	}
	return text.Text
}

// enter opens the form of a document. The form cannot have effects outside: there is no engine for
// scripts, and the callbacks do nothing.
func (f *file) enter(c *handle) {
	if c.formed {
		return
	}
	c.formed = true
	opened, err := f.FPDFDOC_InitFormFillEnvironment(&requests.FPDFDOC_InitFormFillEnvironment{Document: c.document,
		FormFillInfo: structs.FPDF_FORMFILLINFO{
			FFI_Invalidate:         func(references.FPDF_PAGE, float64, float64, float64, float64) {},
			FFI_SetCursor:          func(enums.FXCT) {},
			FFI_SetTimer:           func(int, func(int)) int { return 0 },
			FFI_KillTimer:          func(int) {},
			FFI_GetLocalTime:       func() structs.FPDF_SYSTEMTIME { return structs.FPDF_SYSTEMTIME{} },
			FFI_GetPage:            func(references.FPDF_DOCUMENT, int) *references.FPDF_PAGE { return nil },
			FFI_GetRotation:        func(references.FPDF_PAGE) enums.FPDF_PAGE_ROTATION { return 0 },
			FFI_ExecuteNamedAction: func(string) {},
		}})
	if err == nil {
		c.form = opened.FormHandle
	}
}

// leavePage tells the form that a page is closed, and frees the page.
func (f *file) leavePage(c *handle, page references.FPDF_PAGE) {
	if c.form != "" {
		_, _ = f.FORM_OnBeforeClosePage(&requests.FORM_OnBeforeClosePage{
			Page:       requests.Page{ByReference: &page},
			FormHandle: c.form,
		})
	}
	f.closePage(page)
}

// closePage frees the memory of a page. Its error is ignored, since the process ends soon.
func (f *file) closePage(page references.FPDF_PAGE) {
	_, _ = f.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page})
}

// notes returns the comments on a page and the values of its fields. It removes the appearance of
// each annotation whose index is in stale.
func (f *file) notes(c *handle, page requests.Page, count int, stale map[int]bool) (list []note) {
	for i := range count {
		a, err := f.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: page, Index: i})
		if err != nil {
			continue
		}
		if n := f.noteOf(c, a.Annotation); n.text != "" {
			n.index = i
			list = append(list, n)
		}
		if stale[i] {
			_, _ = f.FPDFAnnot_SetAP(&requests.FPDFAnnot_SetAP{
				Annotation: a.Annotation, AppearanceMode: enums.FPDF_ANNOT_APPEARANCEMODE_NORMAL,
			})
		}
		_, _ = f.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: a.Annotation})
	}
	return list
}

// noteOf returns the text and place of an annotation. The text is empty if the annotation has none.
func (f *file) noteOf(c *handle, a references.FPDF_ANNOTATION) (n note) {
	kind, err := f.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: a})
	if err != nil {
		return note{}
	}
	switch kind.Subtype {
	case enums.FPDF_ANNOT_SUBTYPE_LINK, enums.FPDF_ANNOT_SUBTYPE_POPUP, enums.FPDF_ANNOT_SUBTYPE_PRINTERMARK, enums.FPDF_ANNOT_SUBTYPE_TRAPNET:
		return note{} // a popup repeats the comment of another annotation
	case enums.FPDF_ANNOT_SUBTYPE_WIDGET:
		n.text, n.field = f.valueOf(c, a), true
	default:
		if said, err := f.FPDFAnnot_GetStringValue(&requests.FPDFAnnot_GetStringValue{
			Annotation: a, Key: "Contents",
		}); err == nil {
			n.text = said.Value
		}
	}
	if place, err := f.FPDFAnnot_GetRect(&requests.FPDFAnnot_GetRect{Annotation: a}); err == nil {
		n.place = place.Rect
	}
	return n
}

// password is the flag of a field whose value must not be shown.
const password enums.FPDF_FORMFLAG = 1 << 13

// valueOf returns the value of a field that shows text. It returns an empty string for other
// fields, hidden fields and passwords.
func (f *file) valueOf(c *handle, a references.FPDF_ANNOTATION) string {
	if c.form == "" {
		return ""
	}
	kind, err := f.FPDFAnnot_GetFormFieldType(&requests.FPDFAnnot_GetFormFieldType{FormHandle: c.form, Annotation: a})
	if err != nil {
		return ""
	}
	switch kind.FormFieldType {
	case enums.FPDF_FORMFIELD_TYPE_TEXTFIELD, enums.FPDF_FORMFIELD_TYPE_COMBOBOX, enums.FPDF_FORMFIELD_TYPE_LISTBOX:
	default:
		return ""
	}
	if flags, err := f.FPDFAnnot_GetFlags(&requests.FPDFAnnot_GetFlags{Annotation: a}); err != nil ||
		flags.Flags&(enums.FPDF_ANNOT_FLAG_HIDDEN|enums.FPDF_ANNOT_FLAG_NOVIEW) != 0 {
		return ""
	}
	if flags, err := f.FPDFAnnot_GetFormFieldFlags(&requests.FPDFAnnot_GetFormFieldFlags{
		FormHandle: c.form, Annotation: a,
	}); err != nil || flags.Flags&password != 0 {
		return ""
	}
	if label := f.chosen(c, a); label != "" {
		return label
	}
	v, err := f.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: c.form, Annotation: a})
	if err != nil {
		return ""
	}
	return v.FormFieldValue
}

// maxOptions is the maximum number of options of a list that are read.
const maxOptions = 1000

// chosen returns the labels of the chosen options of a list.
func (f *file) chosen(c *handle, a references.FPDF_ANNOTATION) string {
	options, err := f.FPDFAnnot_GetOptionCount(&requests.FPDFAnnot_GetOptionCount{FormHandle: c.form, Annotation: a})
	if err != nil {
		return ""
	}
	var labels []string
	for i := range min(options.OptionCount, maxOptions) {
		is, err := f.FPDFAnnot_IsOptionSelected(&requests.FPDFAnnot_IsOptionSelected{
			FormHandle: c.form, Annotation: a, Index: i,
		})
		if err != nil || !is.IsOptionSelected {
			continue
		}
		if label, err := f.FPDFAnnot_GetOptionLabel(&requests.FPDFAnnot_GetOptionLabel{
			FormHandle: c.form, Annotation: a, Index: i,
		}); err == nil {
			labels = append(labels, label.OptionLabel)
		}
	}
	return strings.Join(labels, "\n")
}

// shows reports whether a text contains words. It ignores white space and hyphens. An amount is
// contained if its digits are, because a form may format an amount.
func shows(text, words string) bool {
	bare := func(s string, keep func(rune) bool) string {
		return strings.Map(func(r rune) rune {
			if !keep(r) {
				return -1
			}
			return r
		}, s)
	}
	letters := func(r rune) bool {
		return !unicode.IsSpace(r) && r != '-' && r != '\u00ad' && r != '\x02' && r != '\ufffe'
	}
	want := bare(words, letters)
	if want == "" || strings.Contains(bare(text, letters), want) {
		return true
	}
	if strings.ContainsFunc(want, unicode.IsLetter) {
		return false
	}
	digits := bare(want, unicode.IsDigit)
	return digits != "" && strings.Contains(bare(text, unicode.IsDigit), digits)
}
