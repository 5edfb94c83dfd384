package ui

import "github.com/a-h/templ"

// Hx has the htmx attributes of an element. Only this file contains the names of htmx attributes,
// so a new version of htmx changes only this file.
type Hx templ.OrderedAttributes

// Items returns the attributes, for the spread syntax in a template.
func (h Hx) Items() []templ.KeyValue[string, any] { return h }

// Get returns attributes that load a part of the page from an address.
func (v View) Get(address string) Hx { return v.hx("hx-get", address) }

// Post returns attributes that send a form. The response replaces a part of the page.
func (v View) Post(address string) Hx { return v.hx("hx-post", address) }

// hx returns the first attributes: the nonce, the method and the address. Without the nonce, the
// extension hx-csp removes all other attributes. Injected markup does not know the nonce.
func (v View) hx(method, address string) Hx {
	return Hx{{Key: "hx-nonce", Value: v.Nonce}, {Key: method, Value: string(v.To(address))}}
}

// Target adds the selector of the element that the response replaces.
func (h Hx) Target(selector string) Hx { return h.with("hx-target", selector) }

// Select adds a selector. Only the matching part of the response is used.
func (h Hx) Select(selector string) Hx { return h.with("hx-select", selector) }

// Morph changes only elements that differ, and keeps the focus and typed text.
func (h Hx) Morph() Hx { return h.with("hx-swap", "outerMorph") }

// MorphInside does the same with the content of the target.
func (h Hx) MorphInside() Hx { return h.with("hx-swap", "innerMorph") }

// Replace replaces the target by the response.
func (h Hx) Replace() Hx { return h.with("hx-swap", "outerHTML") }

// MorphFromTop does the same as Morph, and scrolls to the top of the page.
func (h Hx) MorphFromTop() Hx { return h.with("hx-swap", "outerMorph scroll:top scrollTarget:window") }

// Append adds the response at the end of the target.
func (h Hx) Append() Hx { return h.with("hx-swap", "beforeend") }

// On sets the events that trigger the request, such as "change" or "input changed delay:80ms".
func (h Hx) On(events string) Hx { return h.with("hx-trigger", events) }

// Newest aborts a pending request of the element when a new one starts.
func (h Hx) Newest() Hx { return h.with("hx-sync", "this:replace") }

// Push adds the address to the browser's history.
func (h Hx) Push() Hx { return h.with("hx-push-url", "true") }

// ReplaceURL shows the address in the address bar, without a new entry in the history.
func (h Hx) ReplaceURL() Hx { return h.with("hx-replace-url", "true") }

// Include also sends the fields of the elements that match a selector.
func (h Hx) Include(selector string) Hx { return h.with("hx-include", selector) }

// With returns h with the attributes in common appended.
func (h Hx) With(common Hx) Hx { return append(h[:len(h):len(h)], common...) }

func (h Hx) with(key, value string) Hx {
	return append(h[:len(h):len(h)], templ.KeyValue[string, any]{Key: key, Value: value})
}
