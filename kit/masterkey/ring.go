package masterkey

// Ring has the current master key and the previous keys. The previous keys decrypt secrets that
// were not yet encrypted with the current key.
type Ring struct {
	Current  *Key
	Previous []*Key
}

// All returns all keys, the current key first.
func (r Ring) All() []*Key { return append([]*Key{r.Current}, r.Previous...) }
