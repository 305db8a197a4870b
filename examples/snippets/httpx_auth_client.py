import os

import httpx
from httpx_auth import OAuth2ClientCredentials

auth = OAuth2ClientCredentials(
    os.environ["ISSUER"] + "/oauth2/token", os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
)
with httpx.Client(auth=auth) as client:
    print(client.get(os.environ["API_URL"]).text)
