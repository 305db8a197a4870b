package example;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.springframework.security.oauth2.jwt.JwtDecoder;

/** Verifies each line of standard input with the snippet of the page. */
public class VerifyLines {
    public static void main(String[] args) throws Exception {
        JwtDecoder decoder = new ThingsSecurity().jwtDecoder(System.getenv("ISSUER"), System.getenv("AUDIENCE"));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                System.out.println("accepted " + decoder.decode(line).getSubject());
            } catch (RuntimeException error) {
                System.out.println("refused " + error.getMessage().replace('\n', ' '));
            }
        }
    }
}
