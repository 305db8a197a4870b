import os

from authlib.integrations.requests_client import OAuth2Session

session = OAuth2Session(
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    token_endpoint=os.environ["ISSUER"] + "/oauth2/token",
    token_endpoint_auth_method="client_secret_post",
    grant_type="client_credentials",
)
session.fetch_token()
response = session.get(os.environ["API_URL"])
print(response.status_code, response.text)
