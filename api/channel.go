package api

import (
	"context"

	"kartei/kit/fault"
)

// channel hides rows of the preview channel from those who did not ask for it.
func channel(_ *API, _ context.Context, c *call) error {
	if c.op == nil {
		return nil // a blocked family, refused by the next stage
	}
	asked, err := wantsPreview(c.Header["Svc-Preview"])
	if err != nil {
		return err
	}
	if c.op.Channel.Preview(c.version) && !asked && c.duties.Preview {
		return &fault.Fault{Code: fault.OperationNotInVersion, Detail: &isPreview}
	}
	return nil
}

var isPreview = fault.Text{
	DE: "Diese Operation ist in dieser Version eine Vorschau. Senden Sie den Header Svc-Preview: true.",
	EN: "This operation is a preview in this version. Send the header Svc-Preview: true.",
}

// wantsPreview reads Svc-Preview, which is true or false.
func wantsPreview(values []string) (bool, error) {
	if len(values) == 0 {
		return false, nil
	}
	if len(values) == 1 {
		switch values[0] {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, fault.BadRequest(fault.Field{Name: "Svc-Preview", Code: fault.NotInEnum, Limit: []string{"true", "false"}})
}
