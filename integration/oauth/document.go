package oauth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/signin"
	"kartei/store/db"
)

// documentsOfPerson is the maximum number of documents that are fetched for one person in a minute.
// documentsOfInstance is the maximum number for all people together.
const (
	documentsOfPerson   = 10
	documentsOfInstance = 100
)

// byDocument returns the client that the document at an address describes. If the document was
// fetched recently by any replica, the client comes from the database.
func byDocument(
	ctx context.Context, c *op.Call, documents *grant.Documents, clientID string,
) (client grant.Client, err error) {
	if err := documents.Check(clientID); err != nil {
		return client, undescribed(c, clientID, err)
	}
	err = c.Services.Read(ctx, func(tx db.Tx) error {
		client, err = grant.ClientBy(ctx, tx, clientID)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, db.ErrNoRows):
		return client, err
	case client.Disabled:
		return client, &fault.Fault{Code: fault.NotFound, Detail: unknownClient}
	case c.Now < client.FreshUntil && client.FreshUntil-c.Now <= clock.Day: // a clock that was ahead stores later times
		return client, nil
	}
	if err := countDocument(ctx, c); err != nil {
		return client, err
	}
	client, use, err := documents.Read(ctx, clientID)
	if err != nil {
		return client, undescribed(c, clientID, err)
	}
	client.FreshUntil = c.Now.Add(use)
	err = signin.Service.In(c).DB.Write(ctx, func(tx db.Tx) error {
		_, err := client.Store(ctx, tx, c.Now)
		return err
	})
	return client, err
}

// countDocument counts a fetch of a document. It fails with RATE_LIMITED if there are too many.
func countDocument(ctx context.Context, c *op.Call) error {
	err := signin.Service.In(c).Attempt(ctx, c.Now,
		signin.Limit{Subject: "document|" + c.Actor.PrincipalID(), Window: time.Minute, Most: documentsOfPerson, Keeps: true},
		signin.Limit{Subject: "documents", Window: time.Minute, Most: documentsOfInstance, Keeps: true})
	if left := signin.Waits(err); left > 0 {
		return &fault.Fault{Code: fault.RateLimited, RetryAfter: left, Detail: tooManyDocuments}
	}
	return err
}

var tooManyDocuments = i18n.Text("Too many applications were asked for in a short time. Please wait.")

// undescribed returns the fault for an application whose document cannot be used. It logs the cause
// for the operator.
func undescribed(c *op.Call, clientID string, err error) error {
	why, is := errors.AsType[*grant.DocumentError](err)
	if !is {
		return err
	}
	c.Services.Logger.Info("the document of an application was not accepted",
		slog.String("host", grant.Host(clientID)), slog.Any("error", err))
	return &fault.Fault{Code: fault.InvalidRequest, Detail: why.Why}
}
