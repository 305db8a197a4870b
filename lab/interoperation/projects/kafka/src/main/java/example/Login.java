package example;

import java.io.FileReader;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import javax.security.auth.callback.Callback;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;

/** Gets a token as a Kafka client with these properties does before it connects to a broker. */
public class Login {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (FileReader file = new FileReader(args[0])) {
            properties.load(file);
        }
        properties.put("bootstrap.servers", "127.0.0.1:1");
        Map<String, Object> settings = new HashMap<>(new AdminClientConfig(properties).values());
        AuthenticateCallbackHandler handler = (AuthenticateCallbackHandler) ((Class<?>) settings.get("sasl.login.callback.handler.class"))
            .getDeclaredConstructor().newInstance();
        handler.configure(settings, "OAUTHBEARER", JaasContext.loadClientContext(settings).configurationEntries());
        OAuthBearerTokenCallback callback = new OAuthBearerTokenCallback();
        handler.handle(new Callback[] {callback});
        if (callback.token() == null) throw new IllegalStateException(callback.errorDescription());
        System.out.println("token of " + callback.token().principalName());
        System.exit(0);
    }
}
