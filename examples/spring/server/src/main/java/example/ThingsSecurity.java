package example;

import jakarta.servlet.DispatcherType;
import java.util.Objects;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;

@Configuration
public class ThingsSecurity {
    @Bean
    JwtDecoder jwtDecoder(@Value("${ISSUER}") String issuer, @Value("${AUDIENCE}") String audience) {
        // Without validateType(false), `typ: at+jwt` is refused. The validator below checks the type.
        NimbusJwtDecoder decoder = NimbusJwtDecoder.withJwkSetUri(issuer + "/oauth2/jwks")
            .jwsAlgorithm(SignatureAlgorithm.RS256)
            .validateType(false)
            .build();
        decoder.setJwtValidator(JwtValidators.createAtJwtValidator()
            .issuer(issuer)
            .audience(audience)
            // Accepts any client; the builder requires some check.
            .validators((checks) -> checks.put("client_id", new JwtClaimValidator<>("client_id", Objects::nonNull)))
            .build());
        return decoder;
    }

    @Bean
    SecurityFilterChain security(HttpSecurity http) throws Exception {
        return http
            .authorizeHttpRequests((requests) -> requests
                // Otherwise a key set that cannot be fetched, 500, becomes a 401.
                .dispatcherTypeMatchers(DispatcherType.ERROR).permitAll()
                .anyRequest().hasAuthority("SCOPE_read"))
            .oauth2ResourceServer((server) -> server.jwt(Customizer.withDefaults()))
            .build();
    }
}
