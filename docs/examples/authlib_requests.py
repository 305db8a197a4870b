from authlib.integrations.requests_client import OAuth2Session

session = OAuth2Session(
    "my-client",
    "my-secret",
    token_endpoint="https://auth.example.com/oauth2/token",
    token_endpoint_auth_method="client_secret_post",
    grant_type="client_credentials",
)
session.fetch_token()
print(session.get("https://api.example.com/things").text)
