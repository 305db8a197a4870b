package example;

import com.nimbusds.jose.jwk.JWK;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.springframework.security.oauth2.client.endpoint.NimbusJwtClientAuthenticationParametersConverter;
import org.springframework.security.oauth2.client.endpoint.OAuth2ClientCredentialsGrantRequest;
import org.springframework.security.oauth2.client.endpoint.RestClientClientCredentialsTokenResponseClient;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;

public class SpringClient {
    public static void main(String[] arguments) throws Exception {
        JWK key = JWK.parse(Files.readString(Path.of("private.jwk")));
        var converter = new NimbusJwtClientAuthenticationParametersConverter<OAuth2ClientCredentialsGrantRequest>((client) -> key);
        // Without this line, `aud` is the URL of the token endpoint.
        converter.setJwtClientAssertionCustomizer((context) ->
            context.getClaims().audience(List.of("https://auth.example.com")));
        var tokens = new RestClientClientCredentialsTokenResponseClient();
        tokens.addParametersConverter(converter);
        tokens.addParametersConverter((request) ->
            org.springframework.util.MultiValueMap.fromSingleValue(java.util.Map.of("resource", "https://api.example.com")));
        ClientRegistration client = ClientRegistration.withRegistrationId("things")
            .clientId("my-client")
            .clientAuthenticationMethod(ClientAuthenticationMethod.PRIVATE_KEY_JWT)
            .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
            .tokenUri("https://auth.example.com/oauth2/token")
            .scope("read")
            .build();
        var answer = tokens.getTokenResponse(new OAuth2ClientCredentialsGrantRequest(client));
        System.out.println("token for " + answer.getAccessToken().getScopes());
    }
}
