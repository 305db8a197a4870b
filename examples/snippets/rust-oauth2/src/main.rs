use oauth2::basic::BasicClient;
use oauth2::{AuthType, ClientId, ClientSecret, TokenResponse, TokenUrl};
use std::env::var;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let http = oauth2::reqwest::Client::builder()
        .redirect(oauth2::reqwest::redirect::Policy::none())
        .build()?;
    let client = BasicClient::new(ClientId::new(var("CLIENT_ID")?))
        .set_client_secret(ClientSecret::new(var("CLIENT_SECRET")?))
        .set_token_uri(TokenUrl::new(var("ISSUER")? + "/oauth2/token")?)
        .set_auth_type(AuthType::RequestBody);
    let token = client.exchange_client_credentials().request_async(&http).await?;
    let response = http
        .get(var("API_URL")?)
        .bearer_auth(token.access_token().secret())
        .send()
        .await?;
    println!("{}", response.text().await?);
    Ok(())
}
