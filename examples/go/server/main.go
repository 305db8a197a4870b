package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	authorize, err := newAuthorizer(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("GET /things", func(w http.ResponseWriter, r *http.Request) {
		token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !found {
			refuse(w, http.StatusUnauthorized, "Bearer")
			return
		}
		caller, err := authorize(r.Context(), token)
		switch {
		case errors.Is(err, errScope):
			refuse(w, http.StatusForbidden, `Bearer error="insufficient_scope", scope="read"`)
		case err != nil:
			refuse(w, http.StatusUnauthorized, `Bearer error="invalid_token"`)
		default:
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]string{"caller": caller})
		}
	})
	log.Fatal(http.ListenAndServe(":"+cmp.Or(os.Getenv("PORT"), "9000"), nil))
}

func refuse(w http.ResponseWriter, status int, challenge string) {
	w.Header().Set("WWW-Authenticate", challenge)
	w.WriteHeader(status)
}
