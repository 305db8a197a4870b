use openidconnect::core::{CoreClient, CoreProviderMetadata};
use openidconnect::{reqwest, AuthType, ClientId, ClientSecret, IssuerUrl, OAuth2TokenResponse, Scope};

fn main() {
    let [issuer, id, secret] = [1, 2, 3].map(|position| std::env::args().nth(position).unwrap());
    let http = reqwest::blocking::Client::new();
    let metadata = CoreProviderMetadata::discover(&IssuerUrl::new(issuer).unwrap(), &http).unwrap();
    let client = CoreClient::from_provider_metadata(metadata, ClientId::new(id), Some(ClientSecret::new(secret)))
        .set_auth_type(AuthType::RequestBody);
    let request = client.exchange_client_credentials().unwrap().add_scope(Scope::new("read".into()));
    println!("token for {:?}", request.request(&http).unwrap().scopes());
}
