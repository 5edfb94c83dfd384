package schema

// What tests of the documents need beside what the path does.
const DocumentURL = documentURL

var (
	NewCompiler = newCompiler
	Pointer     = pointer
)

// Root returns the whole document.
func (r *Document) Root() map[string]any { return r.document }

// Object returns v as an object, following references.
func (r *Document) Object(v any) map[string]any { return r.object(v) }

// Operations returns how many operations the document has.
func (r *Document) Operations() int { return len(r.operations) }
