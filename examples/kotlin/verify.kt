/*
 * Verifies a phone number or an e-mail address, and judges calls of the service, with Kotlin on Java 17 or later alone.
 *
 *     kotlinc verify.kt -include-runtime -d verify.jar
 *     WATCHWORD_URL=https://codes.example.com WATCHWORD_API_KEY=ww_api_... WATCHWORD_SECRET_KEY=ww_secret_... java -jar verify.jar +46701740605
 *
 * In a web application, begin and check answer your form, and verified runs where the user is logged in. An app for
 * Android makes the first two calls with the API key, and hands the token to your server.
 * `java -jar verify.jar webhook` reads a call's body from the standard input, and its three headers from the environment.
 * Java has no JSON of its own: with your library, read the answers by that.
 */

import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.security.MessageDigest
import java.time.Duration
import java.util.Base64
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec
import kotlin.system.exitProcess

val TIMEOUT: Duration = Duration.ofSeconds(10)
const val TOLERANCE_SECONDS = 300 // a recorded call is older

// A client of Java's own follows no redirect, which would carry the key along.
val client: HttpClient = HttpClient.newBuilder().connectTimeout(TIMEOUT).build()

fun setting(name: String): String = System.getenv(name) ?: throw Exception("Set $name.")

/** A text or a number of a flat answer; null where there is none. */
fun member(json: String, name: String): String? =
    Regex("\"$name\":(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([0-9]+))").find(json)?.let { found ->
        found.groups[1]?.value ?: found.groups[2]?.value
    }

/** A text as JSON. */
fun quoted(text: String): String = text.map { each ->
    if (each < ' ' || each == '"' || each == '\\') "\\u%04x".format(each.toInt()) else each.toString()
}.joinToString("", "\"", "\"")

/** A refusal or failure of the service. Program against its code. */
class Problem(document: String) : Exception(
    "${member(document, "code")}: ${member(document, "detail")}" +
        (member(document, "retry_after")?.let { " Try again in $it seconds." } ?: "")
) {
    val code = member(document, "code")
    val attemptsLeft = member(document, "attempts_left")
}

fun call(path: String, body: Map<String, String>, key: String): HttpResponse<String> {
    val content = body.map { (name, text) -> quoted(name) + ":" + quoted(text) }.joinToString(",", "{", "}")
    val request = HttpRequest.newBuilder(URI.create(setting("WATCHWORD_URL") + path))
        .timeout(TIMEOUT)
        .header("content-type", "application/json")
        .header("x-api-key", key)
        .POST(HttpRequest.BodyPublishers.ofString(content))
        .build()
    val answer = client.send(request, HttpResponse.BodyHandlers.ofString())
    if (answer.statusCode() == 200) return answer
    if (member(answer.body(), "code") != null) throw Problem(answer.body())
    throw Exception("The answer, with status ${answer.statusCode()}, is not from Watchword.")
}

/** Send a code, and return the session's id. */
fun begin(to: String): String =
    member(call("/session/create", mapOf("to" to to), setting("WATCHWORD_API_KEY")).body(), "session_id")!!

/** Check what the user typed, and return the verify token. */
fun check(sessionId: String, code: String): String {
    val body = mapOf("session_id" to sessionId, "code" to code)
    return member(call("/session/check", body, setting("WATCHWORD_API_KEY")).body(), "verify_token")!!
}

/** Redeem the verify token, and return who was verified. Compare it with the account that is to be entered. */
fun verified(token: String): String {
    val answer = call("/session/verify", mapOf("verify_token" to token), setting("WATCHWORD_SECRET_KEY"))
    val isTest = answer.headers().firstValue("x-test-login").isPresent
    if (isTest && System.getenv("ALLOW_TEST_LOGINS") != "1") throw Exception("This is a test login; nobody gets in.")
    return member(answer.body(), "phone") ?: member(answer.body(), "email")!!
}

/** Whether a call is the service's own and of now (Standard Webhooks). The body is as it arrived. */
fun isGenuine(id: String, timestamp: String, signatures: String, body: ByteArray, secret: String): Boolean {
    val at = timestamp.toLongOrNull() ?: return false
    if (Math.abs(System.currentTimeMillis() / 1000 - at) > TOLERANCE_SECONDS) return false
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(SecretKeySpec(Base64.getDecoder().decode(secret.removePrefix("whsec_")), "HmacSHA256"))
    mac.update("$id.$timestamp.".toByteArray())
    val expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))
    return signatures.split(" ").any { MessageDigest.isEqual(it.toByteArray(), expected.toByteArray()) }
}

fun askForToken(sessionId: String): String {
    while (true) {
        print("Code: ")
        try {
            return check(sessionId, (readLine() ?: throw Exception("No code was given.")).trim())
        } catch (problem: Problem) {
            if (problem.code != "invalid_code") throw problem
            println("That is not the code. Tries left: ${problem.attemptsLeft}.")
        }
    }
}

fun main(arguments: Array<String>) {
    try {
        when (val argument = arguments.firstOrNull() ?: throw Exception("Give a phone number or an e-mail address.")) {
            "webhook" -> {
                val (id, timestamp, signature) = listOf("ID", "TIMESTAMP", "SIGNATURE").map { setting("WEBHOOK_$it") }
                val isGenuine = isGenuine(id, timestamp, signature, System.`in`.readBytes(), setting("WEBHOOK_SECRET"))
                println(if (isGenuine) "genuine" else "refused")
            }
            else -> println("Verified: " + verified(askForToken(begin(argument))))
        }
    } catch (error: Exception) {
        System.err.println(error.message)
        exitProcess(1)
    }
}
