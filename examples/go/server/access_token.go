package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

var errScope = errors.New("the token does not have the scope read")

type accessToken struct {
	jwt.RegisteredClaims
	ClientID string `json:"client_id"`
	Scope    string `json:"scope"`
}

func newAuthorizer(ctx context.Context) (func(context.Context, string) (string, error), error) {
	issuer, startsWithoutKeys := os.Getenv("ISSUER"), false
	keys, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{issuer + "/oauth2/jwks"}, keyfunc.Override{
		HTTPTimeout:               2 * time.Second,
		NoErrorReturnFirstHTTPReq: &startsWithoutKeys,
		RefreshInterval:           5 * time.Minute,
		RefreshUnknownKID:         rate.NewLimiter(rate.Every(5*time.Second), 1), // The default is once in 5 minutes.
		RateLimitWaitMax:          time.Second,                                   // The default is 1 minute.
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, bearer string) (string, error) {
		var claims accessToken
		token, err := jwt.ParseWithClaims(bearer, &claims, keys.KeyfuncCtx(ctx),
			jwt.WithValidMethods([]string{"RS256"}),
			jwt.WithIssuer(issuer),
			jwt.WithAudience(os.Getenv("AUDIENCE")),
			jwt.WithExpirationRequired(),
			jwt.WithLeeway(5*time.Second))
		if err != nil {
			return "", err
		}
		if token.Header["typ"] != "at+jwt" {
			return "", errors.New("not an access token")
		}
		if !slices.Contains(strings.Fields(claims.Scope), "read") {
			return "", errScope
		}
		return claims.Subject, nil
	}, nil
}
