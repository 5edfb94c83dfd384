package masterkey

// Ring is the current master key and its predecessors. Those decrypt secrets
// that were not encrypted again yet.
type Ring struct {
	Current  *Key
	Previous []*Key
}

// All returns every key, the current one first.
func (r Ring) All() []*Key { return append([]*Key{r.Current}, r.Previous...) }
