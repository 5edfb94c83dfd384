package document

import (
	"context"
	"errors"

	"kartei/blob"
	"kartei/fault"
	"kartei/job"
)

// measure takes down the hash of the bytes. Where it was announced they were
// held to it as they came.
func (w *work) measure(ctx context.Context) error {
	if w.Fields.SHA256 != "" {
		return nil
	}
	info, err := w.Store.Stat(ctx, w.name())
	if err == nil && info.SHA256 == "" {
		info, err = blob.Read(ctx, w.Store, w.name())
	}
	w.Fields.SHA256 = info.SHA256
	return err
}

// scan has the bytes looked at for malware where that is configured. A scanner
// that is away is waited for: nothing comes through unseen.
func (w *work) scan(ctx context.Context, file blob.Reader) error {
	if w.Scanner == nil {
		return nil
	}
	found, err := w.Scanner.Scan(ctx, file)
	switch {
	case err != nil:
		return errors.Join(err, job.Later(patience))
	case found != "":
		return &fault.Fault{Code: fault.UploadRejected, Detail: &malware}
	}
	return nil
}

var malware = fault.Text{
	DE: "In der Datei wurde Schadsoftware gefunden. Sie wurde gelöscht.",
	EN: "Malware was found in the file. It was deleted.",
}
