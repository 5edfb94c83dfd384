package command

import (
	"context"

	"kartei/door/admin"
	"kartei/instance"
	"kartei/instance/config"
)

// BlobKeys are the settings that a command needs to open files itself, without
// a server.
type BlobKeys struct {
	MasterKeyFile          config.File       `name:"master-key-file" placeholder:"FILE" help:"File with the master key in force; used only if no server runs."`
	PreviousMasterKeyFiles []config.File     `name:"previous-master-key-files" placeholder:"FILE" help:"Files with the master keys before it."`
	BlobEncryption         config.Encryption `name:"blob-encryption" default:"auto" placeholder:"auto|on|off" help:"Whether files are encrypted."`
}

// OpenDoor returns a door to the files without a server.
func (k *BlobKeys) OpenDoor(ctx context.Context, store *config.Store) (*admin.Door, func(), error) {
	return instance.OpenBlobDoor(ctx, store, k.ServerConfig())
}

// ServerConfig returns the settings of a server that opens files.
func (k *BlobKeys) ServerConfig() *config.Server {
	return &config.Server{
		MasterKeyFile: k.MasterKeyFile, PreviousMasterKeyFiles: k.PreviousMasterKeyFiles,
		BlobEncryption: k.BlobEncryption,
	}
}
