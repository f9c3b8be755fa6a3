import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.Scanner;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Verifies a phone number or an e-mail address, and judges calls of the service, with Java 17 or later alone.
 *
 * <pre>WATCHWORD_URL=https://codes.example.com WATCHWORD_API_KEY=ww_api_... WATCHWORD_SECRET_KEY=ww_secret_... java Verify.java +46701740605</pre>
 *
 * In a web application, begin and check answer your form, and verified runs where the user is logged in.
 * {@code java Verify.java webhook} reads a call's body from the standard input, and its three headers from the
 * environment. Java has no JSON of its own: with your library, read the answers by that.
 */
class Verify {
    static final Duration TIMEOUT = Duration.ofSeconds(10);
    static final long TOLERANCE_SECONDS = 300; // a recorded call is older
    // A client of Java's own follows no redirect, which would carry the key along.
    static final HttpClient CLIENT = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();

    /** A refusal or failure of the service. Program against its code. */
    static class Problem extends Exception {
        final String code;
        final String attemptsLeft;

        Problem(String document) {
            super(member(document, "code") + ": " + member(document, "detail")
                + (member(document, "retry_after") == null
                    ? "" : " Try again in " + member(document, "retry_after") + " seconds."));
            code = member(document, "code");
            attemptsLeft = member(document, "attempts_left");
        }
    }

    /** Return a text or a number of a flat answer; null where there is none. */
    static String member(String json, String name) {
        var found = Pattern.compile("\"" + name + "\":(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([0-9]+))").matcher(json);
        return !found.find() ? null : found.group(1) != null ? found.group(1) : found.group(2);
    }

    /** Write a text as JSON. */
    static String quoted(String text) {
        var written = new StringBuilder("\"");
        text.chars().forEach(each -> written.append(
            each < ' ' || each == '"' || each == '\\' ? String.format("\\u%04x", each) : String.valueOf((char) each)));
        return written.append('"').toString();
    }

    static HttpResponse<String> call(String path, String body, String key) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(System.getenv("WATCHWORD_URL") + path))
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .header("x-api-key", key)
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        var answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() == 200) {
            return answer;
        }
        if (member(answer.body(), "code") == null) {
            throw new Exception("The answer, with status " + answer.statusCode() + ", is not from Watchword.");
        }
        throw new Problem(answer.body());
    }

    /** Send a code, and return the session's id. */
    static String begin(String to) throws Exception {
        var answer = call("/session/create", "{\"to\":" + quoted(to) + "}", System.getenv("WATCHWORD_API_KEY"));
        return member(answer.body(), "session_id");
    }

    /** Check what the user typed, and return the verify token. */
    static String check(String sessionId, String code) throws Exception {
        var body = "{\"session_id\":" + quoted(sessionId) + ",\"code\":" + quoted(code) + "}";
        return member(call("/session/check", body, System.getenv("WATCHWORD_API_KEY")).body(), "verify_token");
    }

    /** Redeem the verify token, and return who was verified. Compare it with the account that is to be entered. */
    static String verified(String token) throws Exception {
        var answer = call("/session/verify", "{\"verify_token\":" + quoted(token) + "}", System.getenv("WATCHWORD_SECRET_KEY"));
        if (answer.headers().firstValue("x-test-login").isPresent() && !"1".equals(System.getenv("ALLOW_TEST_LOGINS"))) {
            throw new Exception("This is a test login; nobody gets in.");
        }
        var phone = member(answer.body(), "phone");
        return phone != null ? phone : member(answer.body(), "email");
    }

    /** Return whether a call is the service's own and of now (Standard Webhooks). The body is as it arrived. */
    static boolean isGenuine(String id, String timestamp, String signatures, byte[] body, String secret)
            throws Exception {
        var now = System.currentTimeMillis() / 1000;
        if (!timestamp.matches("[0-9]{1,12}") || Math.abs(now - Long.parseLong(timestamp)) > TOLERANCE_SECONDS) {
            return false;
        }
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        var expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
        for (var given : signatures.split(" ")) {
            if (MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), expected.getBytes(StandardCharsets.UTF_8))) {
                return true;
            }
        }
        return false;
    }

    static String askForToken(String sessionId) throws Exception {
        var lines = new Scanner(System.in);
        while (true) {
            System.out.print("Code: ");
            try {
                return check(sessionId, lines.nextLine().strip());
            } catch (Problem problem) {
                if (!problem.code.equals("invalid_code")) {
                    throw problem;
                }
                System.out.println("That is not the code. Tries left: " + problem.attemptsLeft + ".");
            }
        }
    }

    public static void main(String[] arguments) {
        try {
            if (arguments.length != 1) {
                throw new Exception("Give a phone number or an e-mail address.");
            }
            if (arguments[0].equals("webhook")) {
                var isGenuine = isGenuine(System.getenv("WEBHOOK_ID"), System.getenv("WEBHOOK_TIMESTAMP"),
                    System.getenv("WEBHOOK_SIGNATURE"), System.in.readAllBytes(), System.getenv("WEBHOOK_SECRET"));
                System.out.println(isGenuine ? "genuine" : "refused");
                return;
            }
            System.out.println("Verified: " + verified(askForToken(begin(arguments[0]))));
        } catch (Exception error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }
}
