import os

from oauthlib.oauth2 import BackendApplicationClient
from requests_oauthlib import OAuth2Session

issuer, client_id, secret = (os.environ[name] for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET"))
if issuer.startswith("http:"):
    os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # Without TLS, for the demo only.

session = OAuth2Session(client=BackendApplicationClient(client_id=client_id))
session.fetch_token(issuer + "/oauth2/token", client_secret=secret, include_client_id=True)
print(session.get(os.environ["API_URL"]).text)
