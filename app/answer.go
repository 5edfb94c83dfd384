package app

// Encoder is an answer that writes its own JSON. Answers that stand in the
// data base as JSON are not decoded to be encoded again.
type Encoder interface {
	// AppendJSON appends the answer's JSON.
	AppendJSON(b []byte) []byte
}

// Revised is an answer about one record: it gets an ETag, and a read of it
// honours If-None-Match.
type Revised interface {
	// EntityTag returns the opaque part of the ETag, without quotes.
	EntityTag() string
}

// Located is an answer to a call that created something: 201 and Location.
type Located interface {
	// Location returns the new thing's path below /v1, for example /contacts/con_....
	Location() string
}

// Counted is an answer that holds records, as the limit on data outflow counts them.
type Counted interface {
	// Records returns how many records the answer holds.
	Records() int
}

// Nothing is the answer of an operation that has none: 204.
type Nothing struct{}

// None is the input of an operation that takes none.
type None struct{}

// ByID is the input of an operation on one named record.
type ByID struct {
	ID string `path:"id" doc:"Kennung des Datensatzes"`
}
