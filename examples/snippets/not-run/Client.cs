services.AddDistributedMemoryCache();
services.AddClientCredentialsTokenManagement()
    .AddClient(ClientCredentialsClientName.Parse("auth"), client =>
    {
        client.TokenEndpoint = new Uri("http://localhost:8080/oauth2/token");
        client.ClientId = ClientId.Parse("demo-client");
        client.ClientSecret = ClientSecret.Parse("demo-secret");
        client.ClientCredentialStyle = ClientCredentialStyle.PostBody;
    });
services.AddClientCredentialsHttpClient("things", ClientCredentialsClientName.Parse("auth"),
    http => http.BaseAddress = new Uri("http://localhost:8080/"));
