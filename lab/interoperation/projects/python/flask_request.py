"""Asks the application of the page, which gets a token for each request."""

from authlib_flask import app

app.testing = True
print(app.test_client().get("/").text)
