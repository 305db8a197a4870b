import json

from requests_oauth2client import OAuth2Client, PrivateKeyJwt

with open("private.jwk") as file:
    key = json.load(file)

client = OAuth2Client(
    "https://auth.example.com/oauth2/token",
    auth=PrivateKeyJwt("my-client", key, aud="https://auth.example.com"),
)
token = client.client_credentials(scope="read", resource="https://api.example.com")
print("token for", token.scope)
