package example;

import static org.springframework.security.oauth2.client.web.client.RequestAttributeClientRegistrationIdResolver.clientRegistrationId;

import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.oauth2.client.AuthorizedClientServiceOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientService;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.client.OAuth2ClientHttpRequestInterceptor;
import org.springframework.web.client.RestClient;

@SpringBootApplication
public class ThingsClient {
    public static void main(String[] args) {
        SpringApplication.run(ThingsClient.class, args);
    }

    @Bean
    OAuth2AuthorizedClientManager manager(ClientRegistrationRepository clients, OAuth2AuthorizedClientService tokens) {
        return new AuthorizedClientServiceOAuth2AuthorizedClientManager(clients, tokens);
    }

    @Bean
    CommandLineRunner things(OAuth2AuthorizedClientManager manager) {
        RestClient client = RestClient.builder()
            .requestInterceptor(new OAuth2ClientHttpRequestInterceptor(manager))
            .build();
        return (args) -> System.out.println(client.get()
            .uri(System.getenv("API_URL"))
            .attributes(clientRegistrationId("things"))
            .retrieve()
            .body(String.class));
    }
}
