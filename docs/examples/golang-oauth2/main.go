package main

import (
	"context"
	"fmt"
	"io"
	"log"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	config := clientcredentials.Config{
		ClientID:     "my-client",
		ClientSecret: "my-secret",
		TokenURL:     "https://auth.example.com/oauth2/token",
		AuthStyle:    oauth2.AuthStyleInParams,
	}
	response, err := config.Client(context.Background()).Get("https://api.example.com/things")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
}
