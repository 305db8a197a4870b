module example

go 1.26.0

require (
	github.com/MicahParks/keyfunc/v3 v3.9.0
	github.com/golang-jwt/jwt/v5 v5.3.1
	golang.org/x/oauth2 v0.37.0
	golang.org/x/time v0.16.0
)

require github.com/MicahParks/jwkset v0.11.3 // indirect
