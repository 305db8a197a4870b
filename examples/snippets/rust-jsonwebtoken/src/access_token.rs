use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{decode, decode_header, jwk::JwkSet, Algorithm, DecodingKey, Validation};
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Claims {
    pub sub: String,
    pub jti: String,
    pub client_id: String,
    pub scope: String,
}

/// An error of kind `InvalidKeyFormat` means: fetch the key set again, at most every few seconds, and try once more.
/// The caller compares `scope` with what the route requires.
pub fn verify(token: &str, keys: &JwkSet) -> Result<Claims, Error> {
    let header = decode_header(token)?;
    if header.typ.as_deref() != Some("at+jwt") {
        return Err(ErrorKind::InvalidToken.into());
    }
    let key = header.kid.and_then(|kid| keys.find(&kid)).ok_or(ErrorKind::InvalidKeyFormat)?;
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_issuer(&["https://auth.example.com"]);
    validation.set_audience(&["https://api.example.com"]);
    validation.set_required_spec_claims(&["iss", "sub", "aud", "nbf", "exp"]);
    validation.validate_nbf = true;
    validation.leeway = 5;
    Ok(decode::<Claims>(token, &DecodingKey::from_jwk(key)?, &validation)?.claims)
}
