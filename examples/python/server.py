import os
from functools import wraps

import jwt
from flask import Flask, Response, g, request

from access_token import InsufficientScope, caller_of

app = Flask(__name__)


def refused(status: int, challenge: str) -> Response:
    return Response(status=status, headers={"WWW-Authenticate": challenge})


def requires(scope: str):
    def decorate(view):
        @wraps(view)
        def checked(*args, **kwargs):
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not token:
                return refused(401, "Bearer")
            try:
                g.caller = caller_of(token, scope)
            except jwt.PyJWKClientConnectionError:
                return Response(status=503, headers={"Retry-After": "1"})
            except InsufficientScope:
                return refused(403, f'Bearer error="insufficient_scope", scope="{scope}"')
            except jwt.PyJWTError:
                return refused(401, 'Bearer error="invalid_token"')
            return view(*args, **kwargs)

        return checked

    return decorate


@app.get("/things")
@requires("read")
def things():
    return {"caller": g.caller}


if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", "9000")))
