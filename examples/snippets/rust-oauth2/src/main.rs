use oauth2::basic::BasicClient;
use oauth2::{AuthType, ClientId, ClientSecret, TokenResponse, TokenUrl};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let http = oauth2::reqwest::Client::builder()
        .redirect(oauth2::reqwest::redirect::Policy::none())
        .build()?;
    let client = BasicClient::new(ClientId::new("my-client".into()))
        .set_client_secret(ClientSecret::new("my-secret".into()))
        .set_token_uri(TokenUrl::new("https://auth.example.com/oauth2/token".into())?)
        .set_auth_type(AuthType::RequestBody);
    let token = client.exchange_client_credentials().request_async(&http).await?;
    let response = http
        .get("https://api.example.com/things")
        .bearer_auth(token.access_token().secret())
        .send()
        .await?;
    println!("{}", response.text().await?);
    Ok(())
}
