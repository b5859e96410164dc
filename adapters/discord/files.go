package discord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/textproto"
	"strings"
	"time"

	"understudy/core"
)

const (
	maxFile  = 10 << 20 // bytes of a file, in a guild that is not boosted
	maxFiles = 10       // of a message
	// uploadTimeout is what a request with files may take; requestTimeout is
	// for those without.
	uploadTimeout = time.Minute
)

// upload is the body of a request that carries files.
type upload struct {
	body  object
	files []core.File
}

// encode writes the body of a request, and says how long it may take.
func encode(body any) (kind string, raw []byte, limit time.Duration, err error) {
	switch b := body.(type) {
	case nil:
		return "application/json", nil, requestTimeout, nil
	case upload:
		kind, raw, err = b.encode()
		return kind, raw, uploadTimeout, err
	}
	raw, err = json.Marshal(body)
	return "application/json", raw, requestTimeout, err
}

// encode writes the form that Discord wants: the body in one part, each file in
// one of its own, and in the body a list that says which is which.
// https://discord.com/developers/docs/reference#uploading-files
func (u upload) encode() (kind string, raw []byte, err error) {
	body, list := maps.Clone(u.body), make([]object, len(u.files))
	for i, f := range u.files {
		list[i] = object{"id": i, "filename": fileName(f)}
	}
	body["attachments"] = list
	payload, err := json.Marshal(body)
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer // writing to it does not fail
	form := multipart.NewWriter(&b)
	add := func(disposition, kind string, data []byte) {
		part, _ := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {kind}})
		_, _ = part.Write(data)
	}
	add(`form-data; name="payload_json"`, "application/json", payload)
	for i, f := range u.files {
		name := multipart.FileContentDisposition(fmt.Sprintf("files[%d]", i), fileName(f))
		add(name, first(f.MIME, "application/octet-stream"), f.Data)
	}
	_ = form.Close()
	return form.FormDataContentType(), b.Bytes(), nil
}

// fileName is the name of a file without what may stand in no name.
func fileName(f core.File) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:"`, r) {
			return '_'
		}
		return r
	}, f.Name)
	if strings.Trim(name, ". ") == "" {
		return "file"
	}
	return short(name, maxLabel)
}

// fits reports why a post has files that Discord would not take.
func (a *Adapter) fits(p core.Post) error {
	most := a.places.maxFile(p.Target.Thread.Workspace)
	refuse := func(format string, args ...any) error {
		return &core.SendError{Permanent: true, Err: fmt.Errorf(format, args...)}
	}
	if len(p.Files) > maxFiles {
		return refuse("a message on Discord takes %d files, not %d", maxFiles, len(p.Files))
	}
	for _, f := range p.Files {
		if len(f.Data) > most {
			return refuse("the file %s has %d bytes: Discord takes %d there", fileName(f), len(f.Data), most)
		}
	}
	return nil
}

// boosted are the sizes of files that guilds take by their level of boosts.
// What an interaction states may be the right of its user alone, and so says
// nothing about posts.
var boosted = map[int]int{2: 50 << 20, 3: 100 << 20}
