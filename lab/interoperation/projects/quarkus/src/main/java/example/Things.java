package example;

import io.quarkus.oidc.client.OidcClient;
import io.quarkus.security.Authenticated;
import io.smallrye.mutiny.Uni;
import jakarta.annotation.security.PermitAll;
import jakarta.inject.Inject;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.SecurityContext;

@Path("/")
public class Things {
    @Inject
    OidcClient client;

    @GET
    @Path("token")
    @PermitAll
    public Uni<String> token() {
        return client.getTokens().map((tokens) -> tokens.getAccessToken());
    }

    @GET
    @Path("things")
    @Authenticated
    public String things(@Context SecurityContext security) {
        return security.getUserPrincipal().getName();
    }
}
