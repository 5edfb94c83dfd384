package move

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"

	"kartei/store/db"
	"kartei/store/db/postgres"
	"kartei/store/db/sqlite"
)

// Recipients are public keys for an encrypted copy (age-encryption.org/v1). Identities are the
// secret keys that decrypt it.
type (
	Recipients []age.Recipient
	Identities []age.Identity
)

// encryptedHead is the first line of each encrypted copy.
const encryptedHead = "age-encryption.org/v1\n"

// ErrEncrypted is the error, wrapped, of a Restore from an encrypted copy
// without identities.
var ErrEncrypted = errors.New("the copy is encrypted")

// ParseRecipients parses lines with one recipient each: an age1... key, or an SSH public key
// (ssh-ed25519, ssh-rsa). It skips empty lines and lines that begin with #.
func ParseRecipients(lines []string) (list Recipients, err error) {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var some []age.Recipient
		if strings.HasPrefix(line, "ssh-") {
			var one age.Recipient
			one, err = agessh.ParseRecipient(line)
			some = []age.Recipient{one}
		} else {
			some, err = age.ParseRecipients(strings.NewReader(line))
		}
		if err != nil { // err may contain a secret key that was given by mistake
			return nil, errors.New("a recipient is not valid; it must be a public key of age (age1...) or of SSH (ssh-ed25519, ssh-rsa)")
		}
		list = append(list, some...)
	}
	return list, nil
}

// ReadIdentities reads identities from files. A file contains secret keys in the format of
// age-keygen, or one SSH private key without a passphrase.
func ReadIdentities(paths ...string) (list Identities, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var some []age.Identity
		if bytes.HasPrefix(text, []byte("-----BEGIN")) &&
			!bytes.HasPrefix(text, []byte("-----BEGIN AGE ENCRYPTED FILE-----")) {
			var one age.Identity
			one, err = agessh.ParseIdentity(text)
			some = []age.Identity{one}
		} else {
			some, err = age.ParseIdentities(bytes.NewReader(text))
		}
		if err != nil { // err may contain the key
			return nil, fmt.Errorf("%s contains no usable identity; it must contain secret keys of age (AGE-SECRET-KEY-1...) or a private key of SSH without a passphrase", path)
		}
		list = append(list, some...)
	}
	return list, nil
}

// backupEncrypted writes an encrypted copy to a draft. Plain data is written at most to the disk of
// the database itself.
func backupEncrypted(ctx context.Context, d db.DB, draft string, to Recipients) (err error) {
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffered := bufio.NewWriterSize(file, 1<<20)
	sealed, err := age.Encrypt(buffered, to...)
	if err != nil {
		return err
	}
	switch d := d.(type) {
	case *sqlite.DB:
		err = copyFileTo(d, sealed)
	case *postgres.DB:
		err = dumpTo(ctx, d, sealed)
	default:
		err = fmt.Errorf("%T cannot be backed up", d)
	}
	if err != nil {
		return err
	}
	if err := sealed.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}

// copyFileTo writes a checked copy of an SQLite database to w. SQLite needs a file for the copy.
// The file is in the folder of the database, and is unlinked before it is read. So it does not
// survive the process.
func copyFileTo(d *sqlite.DB, w io.Writer) error {
	draft, err := newDraft(d.Path(), backupDraft)
	if err != nil {
		return err
	}
	defer discard(draft)
	if err := copyFile(d, draft); err != nil {
		return err
	}
	file, err := os.Open(draft)
	if err != nil {
		return err
	}
	defer file.Close()
	discard(draft)
	_, err = io.Copy(w, file)
	return err
}

// backupFile is a file of Backup that is to be restored.
type backupFile struct {
	path       string
	identities Identities
	encrypted  bool
}

// openCopy opens a copy. It first reads all of an encrypted copy, to check that an identity
// decrypts it and that all bytes are intact.
func openCopy(path string, identities Identities) (*backupFile, error) {
	c, err := newCopy(path, identities)
	if err != nil {
		return c, err
	}
	if c.encrypted {
		err = c.each(io.Discard)
	}
	return c, err
}

func newCopy(path string, identities Identities) (c *backupFile, err error) {
	c = &backupFile{path: path, identities: identities}
	head, err := headOf(path, len(encryptedHead))
	if err != nil {
		return nil, err
	}
	c.encrypted = head == encryptedHead
	switch {
	case c.encrypted && len(identities) == 0:
		return nil, fmt.Errorf("%w: name the file with the identity that opens %s with --identity", ErrEncrypted, path)
	case !c.encrypted && len(identities) > 0:
		return nil, fmt.Errorf("%s is not an encrypted copy, or its beginning is damaged; leave out --identity for a copy that is not encrypted", path)
	}
	return c, nil
}

// CheckCopy returns an error if no identity decrypts an encrypted copy. It does not check that the
// copy is intact.
func CheckCopy(path string, identities Identities) error {
	c, err := newCopy(path, identities)
	if err != nil {
		return err
	}
	_, err = c.head()
	return err
}

// headOf returns the first n bytes of a file, or fewer if the file is shorter.
func headOf(path string, n int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	head := make([]byte, n)
	n, _ = io.ReadFull(file, head) // a shorter file gives a shorter result
	return string(head[:n]), nil
}

// each writes the decrypted content of the copy to w.
func (c *backupFile) each(w io.Writer) error {
	file, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer file.Close()
	var r io.Reader = bufio.NewReaderSize(file, 1<<20)
	if c.encrypted {
		r, err = age.Decrypt(r, c.identities...)
		if none := new(age.NoIdentityMatchError); errors.As(err, &none) {
			return fmt.Errorf("%s was encrypted for other recipients: none of the given identities opens it", c.path)
		}
		if err != nil {
			return c.damaged(err)
		}
	}
	if _, err = io.Copy(w, &backupReader{r, c}); err != nil {
		return err
	}
	return nil
}

// backupReader wraps read errors as damage of the backup, to distinguish them from write errors.
type backupReader struct {
	io.Reader
	file *backupFile
}

func (r *backupReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && r.file.encrypted {
		err = r.file.damaged(err)
	}
	return n, err
}

func (c *backupFile) damaged(err error) error {
	return fmt.Errorf("%s is damaged or cut off: %w; nothing was restored from it", c.path, err)
}

// head returns the first 16 bytes of the decrypted content.
func (c *backupFile) head() (string, error) {
	var head headBuffer
	err := c.each(&head)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return string(head), err
}

// headBuffer is a writer that stores the first 16 bytes, and then fails with errEnough.
type headBuffer []byte

var errEnough = errors.New("enough")

func (b *headBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 16-len(*b))]...)
	if len(*b) == 16 {
		return 0, errEnough
	}
	return len(p), nil
}
