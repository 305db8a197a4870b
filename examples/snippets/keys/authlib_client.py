import json

from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import ECKey

with open("private.jwk") as file:
    key = ECKey.import_key(json.load(file))

session = OAuth2Session(
    "my-client",
    key,
    scope="read",
    # What Authlib calls the token endpoint becomes `aud`. The assertion is valid for an hour.
    token_endpoint_auth_method=PrivateKeyJWT("https://auth.example.com", alg="ES256"),
)
token = session.fetch_token(
    "https://auth.example.com/oauth2/token", grant_type="client_credentials", resource="https://api.example.com"
)
print("token for", token["scope"])
