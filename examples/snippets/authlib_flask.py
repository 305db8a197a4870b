import os

from authlib.integrations.flask_client import OAuth
from flask import Flask

app = Flask(__name__)
api = OAuth(app).register(
    "api",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    access_token_url=os.environ["ISSUER"] + "/oauth2/token",
    client_kwargs={"token_endpoint_auth_method": "client_secret_post"},
)


@app.get("/")
def things():
    token = api.fetch_access_token(grant_type="client_credentials")
    return api.get(os.environ["API_URL"], token=token).text


if __name__ == "__main__":
    print(app.test_client().get("/").text)
