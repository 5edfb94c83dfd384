package grant

import "time"

// SetTimeout changes how long a document may take.
func (d *Documents) SetTimeout(t time.Duration) { d.client.Timeout = t }
