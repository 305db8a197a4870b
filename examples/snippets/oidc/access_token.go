package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

func newAuthorizer(ctx context.Context) (func(context.Context, string) (string, error), error) {
	keys := oidc.NewRemoteKeySet(ctx, "https://auth.example.com/oauth2/jwks")
	verifier := oidc.NewVerifier("https://auth.example.com", keys, &oidc.Config{
		ClientID:             "https://api.example.com", // The audience.
		SupportedSigningAlgs: []string{oidc.RS256},
	})
	return func(ctx context.Context, bearer string) (string, error) {
		token, err := verifier.Verify(ctx, bearer)
		if err != nil {
			return "", err
		}
		var claims struct {
			ClientID string `json:"client_id"`
			Scope    string `json:"scope"`
		}
		if err := token.Claims(&claims); err != nil {
			return "", err
		}
		// go-oidc does not check `typ`. No other token of this issuer has a client_id.
		if claims.ClientID == "" || !slices.Contains(strings.Fields(claims.Scope), "read") {
			return "", errors.New("not an access token for this resource")
		}
		return token.Subject, nil
	}, nil
}
