package example;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.oauth2.sdk.ClientCredentialsGrant;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.auth.PrivateKeyJWT;
import com.nimbusds.oauth2.sdk.id.ClientID;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

public class NimbusClient {
    public static void main(String[] arguments) throws Exception {
        ECKey key = ECKey.parse(Files.readString(Path.of("private.jwk")));
        // Nimbus calls it the URL of the token endpoint; it becomes `aud`.
        var authentication = new PrivateKeyJWT(new ClientID("my-client"), URI.create("https://auth.example.com"),
            JWSAlgorithm.ES256, key.toECPrivateKey(), key.getKeyID(), null);
        var request = new TokenRequest(URI.create("https://auth.example.com/oauth2/token"), authentication,
            new ClientCredentialsGrant(), new Scope("read"), List.of(URI.create("https://api.example.com")), null);
        var answer = TokenResponse.parse(request.toHTTPRequest().send());
        System.out.println(answer.indicatesSuccess()
            ? "token for " + answer.toSuccessResponse().getTokens().getAccessToken().getScope()
            : answer.toErrorResponse().getErrorObject().toJSONObject().toString());
    }
}
