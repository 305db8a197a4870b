package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lestrrat-go/httprc/v3"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

const keySetURL = "https://auth.example.com/oauth2/jwks"

func newAuthorizer(ctx context.Context) (func(context.Context, string) (string, error), error) {
	cache, err := jwk.NewCache(ctx, httprc.NewClient())
	if err != nil {
		return nil, err
	}
	// The default is at most once in 15 minutes. An unknown key causes no fetch.
	if err := cache.Register(ctx, keySetURL, jwk.WithConstantInterval(20*time.Second)); err != nil {
		return nil, err
	}
	keys, err := cache.CachedSet(keySetURL)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, bearer string) (string, error) {
		token, err := jwt.ParseString(bearer,
			jwt.WithKeySet(keys),
			jwt.WithIssuer("https://auth.example.com"),
			jwt.WithAudience("https://api.example.com"),
			jwt.WithRequiredClaim("exp"),
			jwt.WithAcceptableSkew(5*time.Second))
		if err != nil {
			return "", err
		}
		var clientID, scope string
		if token.Get("client_id", &clientID) != nil || token.Get("scope", &scope) != nil {
			return "", errors.New("not an access token")
		}
		if !slices.Contains(strings.Fields(scope), "read") {
			return "", errors.New("insufficient scope")
		}
		caller, _ := token.Subject()
		return caller, nil
	}, nil
}
