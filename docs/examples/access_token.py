import jwt

keys = jwt.PyJWKClient("https://auth.example.com/oauth2/jwks", lifespan=300, timeout=2, cooldown_duration=5)


def caller_of(token: str) -> str:
    """Raises jwt.PyJWKClientConnectionError (answer 503) or another jwt.PyJWTError (answer 401)."""
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("not an access token")
    claims = jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token).key,
        algorithms=["RS256"],
        issuer="https://auth.example.com",
        audience="https://api.example.com",
        leeway=5,
        options={"require": ["iss", "sub", "aud", "iat", "nbf", "exp", "jti"]},
    )
    if "read" not in claims["scope"].split():
        raise jwt.InvalidTokenError("insufficient scope")
    return claims["sub"]
