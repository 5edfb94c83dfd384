package grant

import "time"

// SetTimeout changes the timeout for the fetch of a document.
func (d *Documents) SetTimeout(t time.Duration) { d.client.Timeout = t }
