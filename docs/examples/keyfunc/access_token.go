package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

type accessToken struct {
	jwt.RegisteredClaims
	ClientID string `json:"client_id"`
	Scope    string `json:"scope"`
}

func newAuthorizer(ctx context.Context) (func(context.Context, string) (string, error), error) {
	keys, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{"https://auth.example.com/oauth2/jwks"}, keyfunc.Override{
		HTTPTimeout:       2 * time.Second,
		RefreshInterval:   5 * time.Minute,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(5*time.Second), 1), // The default is once in 5 minutes.
		RateLimitWaitMax:  time.Second,                                  // The default is 1 minute.
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, bearer string) (string, error) {
		var claims accessToken
		token, err := jwt.ParseWithClaims(bearer, &claims, keys.KeyfuncCtx(ctx),
			jwt.WithValidMethods([]string{"RS256"}),
			jwt.WithIssuer("https://auth.example.com"),
			jwt.WithAudience("https://api.example.com"),
			jwt.WithExpirationRequired(),
			jwt.WithLeeway(5*time.Second))
		if err != nil {
			return "", err
		}
		if token.Header["typ"] != "at+jwt" || !slices.Contains(strings.Fields(claims.Scope), "read") {
			return "", errors.New("not an access token for this resource")
		}
		return claims.Subject, nil
	}, nil
}
