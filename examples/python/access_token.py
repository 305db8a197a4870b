import os

import jwt

ISSUER = os.environ["ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]

keys = jwt.PyJWKClient(f"{ISSUER}/oauth2/jwks", lifespan=300, timeout=2, cooldown_duration=5)


class InsufficientScope(Exception):
    pass


def caller_of(token: str, scope: str) -> str:
    """Raises jwt.PyJWKClientConnectionError (answer 503), another jwt.PyJWTError (401) or InsufficientScope (403)."""
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("not an access token")
    claims = jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token).key,
        algorithms=["RS256"],
        issuer=ISSUER,
        audience=AUDIENCE,
        leeway=5,
        options={"require": ["iss", "sub", "aud", "iat", "nbf", "exp", "jti"]},
    )
    if scope not in claims.get("scope", "").split():
        raise InsufficientScope(scope)
    return claims["sub"]
