package command

import (
	"context"

	"kartei/door/admin"
	"kartei/instance"
	"kartei/instance/config"
)

// BlobKeys are the flags that a command needs to read files of documents if no server runs.
type BlobKeys struct {
	MasterKeyFile          config.File       `name:"master-key-file" placeholder:"FILE" help:"File with the master key in force; used only if no server runs."`
	PreviousMasterKeyFiles []config.File     `name:"previous-master-key-files" placeholder:"FILE" help:"Files with the master keys before it."`
	BlobEncryption         config.Encryption `name:"blob-encryption" default:"auto" placeholder:"auto|on|off" help:"Whether files are encrypted."`
}

// OpenDoor returns access to the data and the files without a server. The caller must call the
// returned function at the end.
func (k *BlobKeys) OpenDoor(ctx context.Context, store *config.Store) (*admin.Door, func(), error) {
	return instance.OpenBlobDoor(ctx, store, k.ServerConfig())
}

// ServerConfig returns the server settings that are needed to read files.
func (k *BlobKeys) ServerConfig() *config.Server {
	return &config.Server{
		MasterKeyFile: k.MasterKeyFile, PreviousMasterKeyFiles: k.PreviousMasterKeyFiles,
		BlobEncryption: k.BlobEncryption,
	}
}
