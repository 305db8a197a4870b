package main

import (
	"context"
	"fmt"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
)

func main() {
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, os.Args[1])
	if err != nil {
		panic(err)
	}
	token, err := provider.Verifier(&oidc.Config{SkipClientIDCheck: true}).Verify(ctx, os.Args[2])
	if err != nil {
		panic(err)
	}
	fmt.Println("token of", token.Subject)
}
