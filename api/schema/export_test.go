package schema

// DocumentURL and the names below are exported for the tests of the documents.
const DocumentURL = documentURL

var (
	NewCompiler = newCompiler
	Pointer     = pointer
)

// Root returns the whole document.
func (r *Document) Root() map[string]any { return r.document }

// Object returns v as an object and follows references.
func (r *Document) Object(v any) map[string]any { return r.object(v) }

// Operations returns the number of operations in the document.
func (r *Document) Operations() int { return len(r.operations) }
