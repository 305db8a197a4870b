// Gets a token by the grant jwt-bearer: go run . x-oauth2, go run . prometheus, or go run . zitadel
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	prometheus "github.com/prometheus/common/config"
	"github.com/zitadel/oidc/v3/pkg/client/profile"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"
	"gopkg.in/yaml.v2"
)

const (
	issuer   = "https://auth.example.com"
	tokenURL = issuer + "/oauth2/token"
	clientID = "my-client"
	keyID    = "the-key"
	keyFile  = "private.pem"
)

// A scrape configuration of Prometheus has these lines below `oauth2`.
const scrapeConfiguration = `
oauth2:
  grant_type: urn:ietf:params:oauth:grant-type:jwt-bearer
  client_id: my-client
  client_certificate_key_file: private.pem
  client_certificate_key_id: the-key
  signature_algorithm: RS256
  audience: https://auth.example.com
  scopes: [read]
  token_url: https://auth.example.com/oauth2/token
`

func xOAuth2(key []byte) *http.Client {
	config := jwt.Config{
		Email:        clientID,
		Subject:      clientID,
		Audience:     issuer,
		TokenURL:     tokenURL,
		PrivateKey:   key,
		PrivateKeyID: keyID,
		Scopes:       []string{"read"},
	}
	return config.Client(context.Background())
}

func ofPrometheus() (*http.Client, error) {
	var config prometheus.HTTPClientConfig
	if err := yaml.UnmarshalStrict([]byte(scrapeConfiguration), &config); err != nil {
		return nil, err
	}
	return prometheus.NewClientFromConfig(config, "scrape")
}

func zitadel(key []byte) (*http.Client, error) {
	ctx := context.Background()
	endpoint := profile.WithStaticTokenEndpoint(issuer, tokenURL)
	source, err := profile.NewJWTProfileTokenSource(ctx, issuer, clientID, keyID, key, []string{"read"}, endpoint)
	if err != nil {
		return nil, err
	}
	return oauth2.NewClient(ctx, source), nil
}

func main() {
	key, err := os.ReadFile(keyFile)
	if err != nil {
		log.Fatal(err)
	}
	var client *http.Client
	switch os.Args[1] {
	case "x-oauth2":
		client = xOAuth2(key)
	case "prometheus":
		client, err = ofPrometheus()
	case "zitadel":
		client, err = zitadel(key)
	}
	if err != nil {
		log.Fatal(err)
	}
	response, err := client.Get(os.Getenv("API_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.StatusCode, string(body))
}
