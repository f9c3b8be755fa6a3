// The flow, by the Java client that openapi-generator makes.
import java.util.LinkedHashMap;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ManualApi;
import org.openapitools.client.api.SessionApi;
import org.openapitools.client.api.VerifyApi;
import org.openapitools.client.model.*;

public class Flow {
    static ApiClient client(String key) {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("BASE_URL"));
        client.setRequestInterceptor(request -> request.header("x-api-key", System.getenv(key)));
        return client;
    }

    public static void main(String[] arguments) throws Exception {
        ApiClient app = client("API_KEY");
        ApiClient server = client("SECRET_KEY");
        String to = System.getenv("TO");
        SessionApi sessions = new SessionApi(app);
        String session = sessions
            .createSession(new SessionCreateRequest().to(to).type(Channel.SMS), null, null, null)
            .getSessionId();
        Problem wrong = null;
        try {
            sessions.checkSession(new SessionCheckRequest().sessionId(session).code("000000"), null, null);
        } catch (ApiException refused) {
            wrong = app.getObjectMapper().readValue(refused.getResponseBody(), Problem.class);
        }
        if (wrong.getCode() != ErrorCode.INVALID_CODE) throw new AssertionError(wrong);
        SessionCheckResponse right = sessions.checkSession(
            new SessionCheckRequest().sessionId(session).code(System.getenv("CODE")), null, null);
        SessionVerifyResponse verified = new VerifyApi(server)
            .verifySession(new SessionVerifyRequest().verifyToken(right.getVerifyToken()), null, null);
        ManualApi manual = new ManualApi(server);
        ManualSendResponse sent = manual.sendMessage(
            new ManualSendRequest().to(to).channel(Channel.SMS), null, null);
        ManualMessage message = manual.readMessage(sent.getMessageId(), null);
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("wrong", wrong.getCode().getValue());
        seen.put("attempts_left", wrong.getAttemptsLeft());
        seen.put("is_test", right.getIsTest());
        seen.put("phone", verified.getPhone());
        seen.put("is_same", message.getId().equals(sent.getMessageId()));
        seen.put("status", message.getStatus().getValue());
        System.out.println(app.getObjectMapper().writeValueAsString(seen));
    }
}
