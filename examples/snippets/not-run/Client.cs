services.AddDistributedMemoryCache();
services.AddClientCredentialsTokenManagement()
    .AddClient(ClientCredentialsClientName.Parse("auth"), client =>
    {
        client.TokenEndpoint = new Uri("https://auth.example.com/oauth2/token");
        client.ClientId = ClientId.Parse("my-client");
        client.ClientSecret = ClientSecret.Parse("my-secret");
        client.ClientCredentialStyle = ClientCredentialStyle.PostBody;
    });
services.AddClientCredentialsHttpClient("things", ClientCredentialsClientName.Parse("auth"),
    http => http.BaseAddress = new Uri("https://api.example.com/"));
